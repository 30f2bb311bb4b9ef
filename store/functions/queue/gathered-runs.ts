import type { GatheredEvent, RunRecord } from '../../../model/functions/run.ts';
import { rangeBelow } from '../../mongo/below.ts';
import { counted } from '../../mongo/count.ts';
import { RunRepository } from '../run-document.ts';
import { gatheringPrefix, placeOf } from '../run-place.ts';

/** Nothing has become of it yet. */
const FREE = { state: 'delayed', batch: null } as const;

/**
 * Runs whose events gather. `gathers` is `<project>/<function>/<key>/<when>-<seq>/<id>`, of each that waits, so those of a key
 * stand in the order in which they were accepted. Each change compares: of two that make something of a run one does.
 */
export class GatheredRuns extends RunRepository {
  /** Those that gather with one, the first first. Their events are not read. */
  group(run: RunRecord, limit: number): Promise<RunRecord[]> {
    const group = { gathers: rangeBelow(gatheringPrefix(run)) };
    return this.find(group, { sort: { gathers: 1 }, limit, only: { eventJson: 0 } }); // one that cannot be read expires
  }

  /** Has one gather whose delay is over. */
  async gather(run: RunRecord): Promise<void> {
    const waitingFor = run.gathering?.kind ?? null;
    const set = { waitingFor, ...placeOf({ ...run, waitingFor }) };
    await this.set({ _id: run.id, ...FREE, waitingFor: null }, set);
  }

  /** Has the group of one looked at now, when it is full. @param size of a full one */
  async wakeIfFull(run: RunRecord, size: number): Promise<void> {
    const group = { gathers: rangeBelow(gatheringPrefix(run)) };
    if ((await counted('count a group', this.model, group, size)) >= size)
      await this.set({ _id: run.id, ...FREE }, { wakeAt: run.updatedAt });
  }

  /** Has those of a group that are due looked at later. @param now @param until ISO 8601 */
  async postpone(run: RunRecord, now: string, until: string): Promise<void> {
    const due = { gathers: rangeBelow(gatheringPrefix(run)), wakeAt: { $lte: now } };
    await this.model.updateMany(due, { $set: { wakeAt: until } });
  }

  /** Writes down for which events one stands, before anything becomes of their runs. */
  async claim(id: string, events: GatheredEvent[]): Promise<void> {
    await this.set({ _id: id, ...FREE }, { events });
  }

  /** Queues one of a group, or a batch. */
  async release(run: RunRecord, changes: Pick<RunRecord, 'events' | 'eventBytes'>): Promise<void> {
    const queued = { state: 'queued', waitingFor: null } as const;
    const set = { ...changes, ...queued, ...placeOf({ ...run, ...changes, ...queued }) };
    await this.set({ _id: run.id, ...FREE }, set, ['gathers']);
  }

  /** @returns whether its event is in that batch, now or before */
  async join(id: string, batch: string): Promise<boolean> {
    if (await this.set({ _id: id, ...FREE }, { batch }, ['gathers', 'wakeAt'])) return true;
    const [found] = await this.documents({ _id: id }, { only: { batch: 1 } });
    return found?.batch === batch;
  }

  /** Batches that have ended, of which the runs of their events are not told. */
  async untold(limit: number): Promise<RunRecord[]> {
    const found = await this.documents({ untold: 'members', state: 'ended' }, { limit });
    return found.map((each) => this.decrypted(each));
  }

  /** It is no dead letter: the runs of its events are. */
  async told(id: string): Promise<void> {
    await this.set({ _id: id }, {}, ['untold', 'deadLetter']);
  }
}
