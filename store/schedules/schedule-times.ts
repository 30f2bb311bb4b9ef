import type { Connection, Model } from 'mongoose';
import { type ScheduleTime, scheduleTime } from '../../model/schedules/schedule.ts';
import { rangeBelow } from '../mongo/below.ts';
import { reaching } from '../mongo/failure.ts';
import { fieldsOf } from '../mongo/model-fields.ts';
import { NAME, strictSchema, TEXT } from '../mongo/schema.ts';
import type { SealedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import { type ScheduleRef, scheduleKeyOf } from './schedules.ts';

/** The embedded store leaves the nulls of `$setOnInsert` out. */
type Nullable = 'triggerId' | 'reason' | 'detail' | 'runId';
type TimeDocument = Omit<ScheduleTime, Nullable> &
  Partial<Pick<ScheduleTime, Nullable>> & {
    /** `<project>/<schedule>/<at>/<local time>`, and of a trigger its id: times that a gap leaves out have one instant. */
    _id: string;
    /** ISO 8601. */
    removeAfter: string;
    /** Since when nobody was told that it was missed. ISO 8601. */
    untold?: string;
  };

export interface TimesQuery {
  state?: ScheduleTime['state'] | undefined;
  limit: number;
  /** The `at` and local time of the last of the page before. */
  before?: string | undefined;
}

/** What became of the times of schedules, one document each. */
export class ScheduleTimes {
  readonly #connection: Connection;
  readonly #model: Model<TimeDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#connection = connection;
    const fields = fieldsOf(scheduleTime.shape);
    const schema = strictSchema<TimeDocument>({ _id: NAME, ...fields, removeAfter: TEXT, untold: TEXT });
    this.#model = connection.model<TimeDocument>('ScheduleTime', schema, 'scheduleTimes');
    this.#fields = sealing.of('scheduleTimes', this.#model.schema);
  }

  /** Writes down what became of one; that it ran holds over all that was thought of it. */
  async put(time: ScheduleTime, removeAfter: string): Promise<void> {
    const _id = keyOf(time);
    const isMissed = time.state === 'missed';
    const set = { ...this.#fields.sealed(_id, time), removeAfter, ...(isMissed && { untold: time.recordedAt }) };
    const change = isMissed ? { $set: set } : { $set: set, $unset: { untold: 1 } };
    await reaching('record a time', () => this.#model.updateOne({ _id }, change, { upsert: true }));
  }

  /** Writes down those of which nothing is known yet. @param isAgain also those that were missed before */
  async putMissed(times: readonly ScheduleTime[], removeAfter: string, isAgain = false): Promise<void> {
    for (let from = 0; from < times.length; from += AT_ONCE) {
      const writes = times.slice(from, from + AT_ONCE).flatMap((time) => {
        const _id = keyOf(time);
        const set = { ...this.#fields.sealed(_id, time), removeAfter, untold: time.recordedAt };
        const change = { updateOne: { filter: { _id, state: 'missed' }, update: { $set: set } } };
        const insert = { updateOne: { filter: { _id }, update: { $setOnInsert: set }, upsert: true } };
        return isAgain ? [change, insert] : [insert];
      });
      const collection = this.#connection.collection<TimeDocument>('scheduleTimes');
      await reaching('record times', () => collection.bulkWrite(writes as never, { ordered: false }));
    }
  }

  /** The newest first. @param unreadable takes those that cannot be read */
  async list(
    ref: ScheduleRef,
    { state, limit, before }: TimesQuery,
    unreadable?: Unreadable[],
  ): Promise<ScheduleTime[]> {
    const key = scheduleKeyOf(ref);
    const range = rangeBelow(key);
    const _id = before === undefined ? range : { ...range, $lt: `${key}/${before}` };
    const found = await reaching('list times', () =>
      this.#model
        .find({ _id, ...(state && { state }) })
        .sort({ _id: -1 })
        .limit(limit)
        .lean<TimeDocument[]>(),
    );
    return this.#fields.records(found, recordOf, unreadable);
  }

  /** Missed ones of which nobody was told, the oldest first. */
  async untold(limit: number): Promise<ScheduleTime[]> {
    const found = await reaching('look for times of which nobody was told', () =>
      this.#model
        .find({ untold: { $gt: '' } })
        .sort({ untold: 1 })
        .limit(limit)
        .lean<TimeDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  async told(time: ScheduleTime): Promise<void> {
    const seen = { _id: keyOf(time), untold: time.recordedAt };
    await reaching('change a time', () => this.#model.updateOne(seen, { $unset: { untold: 1 } }));
  }

  /** @returns how many were to be kept no longer */
  async prune(now: string): Promise<number> {
    return reaching('remove times', async () => {
      return (await this.#model.deleteMany({ removeAfter: { $lt: now, $gt: '' } })).deletedCount;
    });
  }

  /** Removes all of a schedule. */
  async removeOf(ref: ScheduleRef): Promise<void> {
    const _id = rangeBelow(scheduleKeyOf(ref));
    await reaching('remove the times of a schedule', () => this.#model.deleteMany({ _id }));
  }
}

/** @param document opened */
function recordOf({ _id, removeAfter: _until, untold: _untold, ...time }: TimeDocument): ScheduleTime {
  const { triggerId = null, reason = null, detail = null, runId = null } = time;
  return { ...time, triggerId, reason, detail, runId };
}

const AT_ONCE = 500;

function keyOf({ project, schedule, ...time }: ScheduleTime): string {
  return `${scheduleKeyOf({ project, name: schedule })}/${timeKeyOf(time)}`;
}

export function timeKeyOf({ at, localTime, triggerId }: Pick<ScheduleTime, 'at' | 'localTime' | 'triggerId'>): string {
  return `${at}/${localTime}${triggerId === null ? '' : `/${triggerId}`}`;
}
