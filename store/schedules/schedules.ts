import { MayflyError } from '../../model/errors.ts';
import { type FunctionRecord, isFunctionName } from '../../model/functions/function.ts';
import { type ScheduleRecord, type ScheduleRequest, scheduleRecord } from '../../model/schedules/schedule.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { repositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';

export type ScheduleRef = Pick<ScheduleRecord, 'project' | 'name'>;
type DueSchedule = Pick<ScheduleRecord, 'project' | 'name' | 'version' | 'wakeAt'>;
type ScheduleChanges = Partial<Omit<ScheduleRecord, 'project' | 'name'>>;
/** Condition on a schedule that is changed. */
type Condition = Partial<Pick<ScheduleRecord, 'version' | 'pausedAt' | 'deletedAt'>>;

/** Event of a schedule that is being deleted. */
const DELETED_EVENT: ScheduleRecord['event'] = { type: '', subject: null };

/** Schedules of projects, `_id` = `<project>/<name>`. */
export class Schedules extends repositoryOf({ collection: 'schedules', noun: 'a schedule', model: scheduleRecord }) {
  /** @returns false when that name exists */
  async create(record: ScheduleRecord): Promise<boolean> {
    return this.insert({ ...record, _id: scheduleKeyOf(record) });
  }

  /** Also returns a schedule that is being deleted. */
  async get(ref: ScheduleRef): Promise<ScheduleRecord | null> {
    return this.findById(scheduleKeyOf(ref));
  }

  /**
   * Lists a project's schedules by name, without those being deleted. @param unreadable collects the unreadable ones
   */
  async list(project: string, unreadable?: Unreadable[]): Promise<ScheduleRecord[]> {
    const found = await this.documents(idPrefixFilter(project), { sort: { _id: 1 } });
    const present = found.filter(({ deletedAt }) => deletedAt === null);
    return this.encryption.records(present, this.recordOf, unreadable);
  }

  /** Returns the schedules of all projects whose workflows are to be woken by now. @param now ISO 8601 */
  due(now: string, limit: number): Promise<DueSchedule[]> {
    const only = { _id: 0, project: 1, name: 1, version: 1, wakeAt: 1 } as const;
    return this.documents({ wakeAt: { $lte: now, $gt: '' } }, { sort: { wakeAt: 1 }, limit, only });
  }

  /** Returns the schedules of all projects. */
  all(): Promise<ScheduleRef[]> {
    return this.documents({}, { only: { _id: 0, project: 1, name: 1 } });
  }

  /** @returns false when there is none, or `of` does not match */
  async change(ref: ScheduleRef, changes: ScheduleChanges, of: Condition = {}): Promise<boolean> {
    const _id = scheduleKeyOf(ref);
    return this.#update({ _id, ...of }, this.encryption.sealed(_id, changes));
  }

  /** Requests a run outside the schedule's times. @returns false for an unknown schedule, or an existing request */
  async ask(ref: ScheduleRef, ask: ScheduleRequest): Promise<boolean> {
    const filter = { _id: scheduleKeyOf(ref), deletedAt: null, [`asks.${ask.id}`]: { $exists: false } };
    return this.#update(filter, { [`asks.${ask.id}`]: ask, wakeAt: ask.at });
  }

  /**
   * Marks a schedule as deleted, also an unreadable one, whose encrypted fields are not needed. @returns false when
   * there is none
   */
  delete(ref: ScheduleRef, at: string): Promise<boolean> {
    return this.#delete(scheduleKeyOf(ref), at);
  }

  /** Marks the schedules of a function as deleted. */
  async deleteOf({ project, name }: Pick<FunctionRecord, 'project' | 'name'>): Promise<void> {
    const at = new Date().toISOString();
    const found = await this.documents({ project, function: name }, { only: { _id: 1 } });
    for (const { _id } of found) await this.#delete(_id, at);
  }

  #delete(_id: string, at: string): Promise<boolean> {
    const set = { deletedAt: at, wakeAt: at, updatedAt: at, past: [], event: DELETED_EVENT };
    return this.#update({ _id, deletedAt: null }, this.encryption.sealed(_id, set));
  }

  /** Removes a deleted schedule, unless it was created again since. */
  async remove(ref: ScheduleRef, { deletedAt }: Pick<ScheduleRecord, 'deletedAt'>): Promise<void> {
    await this.deleteOne({ _id: scheduleKeyOf(ref), deletedAt });
  }

  /** @param $set encrypted */
  #update(filter: { _id: string } & Record<string, unknown>, $set: object): Promise<boolean> {
    return this.updateOne(filter, { $set, $inc: { version: 1 } });
  }
}

/** @throws MayflyError invalid_id */
export function scheduleKeyOf({ project, name }: ScheduleRef): string {
  if (typeof name === 'string' && isFunctionName(name)) return `${String(project)}/${name}`;
  throw new MayflyError('invalid_id', 'That is not the name of a schedule.');
}
