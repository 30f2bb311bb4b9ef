import { z } from 'zod';
import { instant, optional } from '../../model/fields.ts';
import { type ScheduleTime, scheduleTime } from '../../model/schedules/schedule.ts';
import { prefixRange } from '../mongo/below.ts';
import { withStoreErrors } from '../mongo/failure.ts';
import { type DocumentOf, repositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';
import { type ScheduleRef, scheduleKeyOf } from './schedules.ts';

const AT_ONCE = 500;
/** Fields that the embedded store leaves out where `$setOnInsert` sets null. */
const LEFT_OUT = { triggerId: null, reason: null, detail: null, runId: null };

interface TimesQuery {
  state?: ScheduleTime['state'] | undefined;
  limit: number;
  /** `at` and local time of the last item of the page before. */
  before?: string | undefined;
}

/**
 * Outcomes of schedule times, `_id` = `<project>/<schedule>/<at>/<local time>`, followed by the id of a trigger. Local
 * time is included because times that a clock change skips share one instant.
 */
export class ScheduleTimes extends repositoryOf({
  collection: 'scheduleTimes',
  noun: 'a time',
  model: scheduleTime,
  /** `untold`: time since which a miss is unpublished. */
  internal: { removeAfter: instant, untold: optional(z.string()) },
}) {
  /** Records the outcome of a time, over any earlier one. */
  async put(time: ScheduleTime, removeAfter: string): Promise<void> {
    const _id = keyOf(time);
    const isMissed = time.state === 'missed';
    const set = { ...this.encryption.sealed(_id, time), removeAfter, ...(isMissed && { untold: time.recordedAt }) };
    const change = isMissed ? { $set: set } : { $set: set, $unset: { untold: 1 as const } };
    await this.model.updateOne({ _id }, change, { upsert: true });
  }

  /** Records times without an outcome as missed. @param isAgain also replaces earlier misses */
  async putMissed(times: readonly ScheduleTime[], removeAfter: string, isAgain = false): Promise<void> {
    for (let from = 0; from < times.length; from += AT_ONCE) {
      const writes = times.slice(from, from + AT_ONCE).flatMap((time) => {
        const _id = keyOf(time);
        const set = { ...this.encryption.sealed(_id, time), removeAfter, untold: time.recordedAt };
        const change = { updateOne: { filter: { _id, state: 'missed' }, update: { $set: set } } };
        const insert = { updateOne: { filter: { _id }, update: { $setOnInsert: set }, upsert: true } };
        return isAgain ? [change, insert] : [insert];
      });
      const collection = this.connection.collection('scheduleTimes');
      await withStoreErrors('record times', () => collection.bulkWrite(writes as never, { ordered: false }));
    }
  }

  /** Lists times, newest first. @param unreadable collects the unreadable ones */
  list(ref: ScheduleRef, { state, limit, before }: TimesQuery, unreadable?: Unreadable[]): Promise<ScheduleTime[]> {
    const key = scheduleKeyOf(ref);
    const range = prefixRange(key);
    const _id = before === undefined ? range : { ...range, $lt: `${key}/${before}` };
    return this.find({ _id, ...(state && { state }) }, { sort: { _id: -1 }, limit, unreadable });
  }

  /** Returns unpublished misses, oldest first. */
  untold(limit: number): Promise<ScheduleTime[]> {
    return this.find({ untold: { $gt: '' } }, { sort: { untold: 1 }, limit });
  }

  async told(time: ScheduleTime): Promise<void> {
    await this.updateOne({ _id: keyOf(time), untold: time.recordedAt }, { $unset: { untold: 1 } });
  }

  /** Removes times after their retention. @returns number removed */
  prune(now: string): Promise<number> {
    return this.deleteAll({ removeAfter: { $lt: now, $gt: '' } });
  }

  async removeOf(ref: ScheduleRef): Promise<void> {
    await this.deleteAll({ _id: prefixRange(scheduleKeyOf(ref)) });
  }

  protected override readonly recordOf = (
    document: DocumentOf<ScheduleTime> & { removeAfter: string },
  ): ScheduleTime => {
    const { _id, removeAfter: _until, untold: _untold, ...time } = document as typeof document & { untold?: string };
    return { ...LEFT_OUT, ...time };
  };
}

function keyOf({ project, schedule, ...time }: ScheduleTime): string {
  return `${scheduleKeyOf({ project, name: schedule })}/${getTimeKey(time)}`;
}

export function getTimeKey({ at, localTime, triggerId }: Pick<ScheduleTime, 'at' | 'localTime' | 'triggerId'>): string {
  return `${at}/${localTime}${triggerId === null ? '' : `/${triggerId}`}`;
}
