import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import type { FunctionRecord } from '../../model/functions/function.ts';
import { isFunctionName } from '../../model/functions/function.ts';
import { type ScheduleAsk, type ScheduleRecord, scheduleRecord } from '../../model/schedules/schedule.ts';
import { below } from '../mongo/below.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { fieldsOf } from '../mongo/model-fields.ts';
import { NAME, strictSchema } from '../mongo/schema.ts';
import type { SealedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type ScheduleDocument = ScheduleRecord & {
  /** `<project>/<name>` */
  _id: string;
};
export type ScheduleRef = Pick<ScheduleRecord, 'project' | 'name'>;
type DueSchedule = Pick<ScheduleRecord, 'project' | 'name' | 'version' | 'wakeAt'>;
export type ScheduleChanges = Partial<Omit<ScheduleRecord, 'project' | 'name'>>;
/** What has to hold of one that is changed. */
type Condition = Partial<Pick<ScheduleRecord, 'version' | 'pausedAt' | 'deletedAt'>>;

/** In place of the event of one that is being deleted. */
const GONE: ScheduleRecord['event'] = { type: '', subject: null };

/** The schedules of projects, one document each. */
export class Schedules {
  readonly #model: Model<ScheduleDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#model = connection.model<ScheduleDocument>(
      'Schedule',
      strictSchema({ _id: NAME, ...fieldsOf(scheduleRecord.shape) }),
      'schedules',
    );
    this.#fields = sealing.of('schedules', this.#model.schema);
  }

  /** @returns false: there is one of that name */
  async create(record: ScheduleRecord): Promise<boolean> {
    const _id = scheduleKeyOf(record);
    try {
      await reaching('record a schedule', () => this.#model.create({ ...this.#fields.sealed(_id, record), _id }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Also one that is being deleted. */
  async get(ref: ScheduleRef): Promise<ScheduleRecord | null> {
    const _id = scheduleKeyOf(ref);
    const found = await reaching('read a schedule', () => this.#model.findById(_id).lean<ScheduleDocument>());
    return found && this.#record(found);
  }

  /** Of a project, by name; without those that are being deleted. @param unreadable takes those that cannot be read */
  async list(project: string, unreadable?: Unreadable[]): Promise<ScheduleRecord[]> {
    const found = await reaching('list schedules', () =>
      this.#model.find(below(project)).sort({ _id: 1 }).lean<ScheduleDocument[]>(),
    );
    const present = found.filter(({ deletedAt }) => deletedAt === null);
    return this.#fields.records(present, recordOf, unreadable);
  }

  /** Those of all projects whose workflows are to be woken by now. @param now ISO 8601 */
  due(now: string, limit: number): Promise<DueSchedule[]> {
    return reaching('look for schedules', () =>
      this.#model
        .find({ wakeAt: { $lte: now, $gt: '' } }, { _id: 0, project: 1, name: 1, version: 1, wakeAt: 1 })
        .sort({ wakeAt: 1 })
        .limit(limit)
        .lean<DueSchedule[]>(),
    );
  }

  /** Those of all projects. */
  all(): Promise<ScheduleRef[]> {
    const names = { _id: 0, project: 1, name: 1 };
    return reaching('list schedules', () => this.#model.find({}, names).lean<ScheduleRef[]>());
  }

  /** @returns false: there is none, or `of` does not hold of it */
  async change(ref: ScheduleRef, changes: ScheduleChanges, of: Condition = {}): Promise<boolean> {
    const _id = scheduleKeyOf(ref);
    return this.#update({ _id, ...of }, { $set: this.#fields.sealed(_id, changes) });
  }

  /** Has something run beside its times. @returns false: there is no such schedule, or it was asked before */
  async ask(ref: ScheduleRef, ask: ScheduleAsk): Promise<boolean> {
    const filter = { _id: scheduleKeyOf(ref), deletedAt: null, [`asks.${ask.id}`]: { $exists: false } };
    return this.#update(filter, { $set: { [`asks.${ask.id}`]: ask, wakeAt: ask.at } });
  }

  /** Has one go, also one that cannot be read: what is sealed is not needed any more. @returns false: there is none */
  delete(ref: ScheduleRef, at: string): Promise<boolean> {
    return this.#delete(scheduleKeyOf(ref), at);
  }

  /** Has those of a function go. */
  async deleteOf({ project, name }: Pick<FunctionRecord, 'project' | 'name'>): Promise<void> {
    const at = new Date().toISOString();
    const found = await reaching('read the schedules of a function', () =>
      this.#model.find({ project, function: name }, { _id: 1 }).lean<{ _id: string }[]>(),
    );
    for (const { _id } of found) await this.#delete(_id, at);
  }

  #delete(_id: string, at: string): Promise<boolean> {
    const set = this.#fields.sealed(_id, { deletedAt: at, wakeAt: at, updatedAt: at, past: [], event: GONE });
    return this.#update({ _id, deletedAt: null }, { $set: set });
  }

  /** @param of when it was deleted: it may have been made again since */
  async remove(ref: ScheduleRef, { deletedAt }: Pick<ScheduleRecord, 'deletedAt'>): Promise<void> {
    await reaching('remove a schedule', () => this.#model.deleteOne({ _id: scheduleKeyOf(ref), deletedAt }));
  }

  async #update(filter: Record<string, unknown>, update: Record<string, unknown>): Promise<boolean> {
    const { matchedCount } = await reaching('change a schedule', () =>
      this.#model.updateOne(filter, { ...update, $inc: { version: 1 } }, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  #record(document: ScheduleDocument): ScheduleRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...record }: ScheduleDocument): ScheduleRecord {
  return record;
}

/** @throws MayflyError invalid_id */
export function scheduleKeyOf({ project, name }: ScheduleRef): string {
  if (typeof name === 'string' && isFunctionName(name)) return `${String(project)}/${name}`;
  throw new MayflyError('invalid_id', 'That is not the name of a schedule.');
}
