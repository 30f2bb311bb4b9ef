import type { GatheredEvent, RunRecord } from '../../../model/functions/run.ts';
import { prefixRange } from '../../mongo/below.ts';
import { counted } from '../../mongo/count.ts';
import { RunRepository } from '../run-document.ts';
import { gatheringPrefix, getQueueFields } from '../run-place.ts';

/** Condition on a run that is still gathering. */
const FREE = { state: 'delayed', batch: null } as const;

/**
 * Runs whose events gather. `gathers` is `<project>/<function>/<key>/<when>-<seq>/<id>` while a run waits, so runs of a
 * key are in order of acceptance. Changes are conditional: of two concurrent ones, one takes effect.
 */
export class CollectedRuns extends RunRepository {
  /** Returns the group of a run, in order. Their events are not read. */
  group(run: RunRecord, limit: number): Promise<RunRecord[]> {
    const group = { gathers: prefixRange(gatheringPrefix(run)) };
    return this.find(group, { sort: { gathers: 1 }, limit, only: { eventJson: 0 } }); // one that cannot be read expires
  }

  /** Starts the gathering of a run whose delay has ended. */
  async gather(run: RunRecord): Promise<void> {
    const waitingFor = run.gathering?.kind ?? null;
    const set = { waitingFor, ...getQueueFields({ ...run, waitingFor }) };
    await this.set({ _id: run.id, ...FREE, waitingFor: null }, set);
  }

  /** Wakes the group of a run when it is full. @param size size of a full group */
  async wakeIfFull(run: RunRecord, size: number): Promise<void> {
    const group = { gathers: prefixRange(gatheringPrefix(run)) };
    if ((await counted('count a group', this.model, group, size)) >= size)
      await this.set({ _id: run.id, ...FREE }, { wakeAt: run.updatedAt });
  }

  /** Postpones the due runs of a group. @param now @param until ISO 8601 */
  async postpone(run: RunRecord, now: string, until: string): Promise<void> {
    const due = { gathers: prefixRange(gatheringPrefix(run)), wakeAt: { $lte: now } };
    await this.model.updateMany(due, { $set: { wakeAt: until } });
  }

  /** Records the events that a run represents, before the runs of those events change. */
  async claim(id: string, events: GatheredEvent[]): Promise<void> {
    await this.set({ _id: id, ...FREE }, { events });
  }

  /** Queues a run of a group, or a batch. */
  async release(run: RunRecord, changes: Pick<RunRecord, 'events' | 'eventBytes'>): Promise<void> {
    const queued = { state: 'queued', waitingFor: null } as const;
    const set = { ...changes, ...queued, ...getQueueFields({ ...run, ...changes, ...queued }) };
    await this.set({ _id: run.id, ...FREE }, set, ['gathers']);
  }

  /** Adds a run's event to a batch. Idempotent. @returns false when it is not in that batch */
  async join(id: string, batch: string): Promise<boolean> {
    if (await this.set({ _id: id, ...FREE }, { batch }, ['gathers', 'wakeAt'])) return true;
    const [found] = await this.documents({ _id: id }, { only: { batch: 1 } });
    return found?.batch === batch;
  }

  /** Returns ended batches whose result is not yet written to the runs of their events. */
  async untold(limit: number): Promise<RunRecord[]> {
    const found = await this.documents({ untold: 'members', state: 'ended' }, { limit });
    return found.map((each) => this.decrypted(each));
  }

  /** Clears the marks of a batch: from now on the runs of its events are the dead letters. */
  async told(id: string): Promise<void> {
    await this.set({ _id: id }, {}, ['untold', 'deadLetter']);
  }
}
