import type { Connection, Model } from 'mongoose';
import type { GatheredEvent, RunRecord } from '../../../model/functions/run.ts';
import { rangeBelow } from '../../mongo/below.ts';
import { counted } from '../../mongo/count.ts';
import { reaching } from '../../mongo/failure.ts';
import type { SealedFields } from '../../sealed/sealed-fields.ts';
import type { Sealing } from '../../sealed/sealing.ts';
import { type RunDocument, recordOf } from '../run-document.ts';
import { gatheringPrefix, placeOf } from '../run-place.ts';

/** Nothing has become of it yet. */
const FREE = { state: 'delayed', batch: null } as const;

/**
 * Runs whose events gather. `gathers` is `<project>/<function>/<key>/<when>-<seq>/<id>`, of each that waits, so those of a key
 * stand in the order in which they were accepted. Each change compares: of two that make something of a run one does.
 */
export class GatheredRuns {
  readonly #model: Model<RunDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('runs');
    this.#model = connection.model<RunDocument>('Run');
  }

  /** Those that gather with one, the first first. Their events are not read. */
  async group(run: RunRecord, limit: number): Promise<RunRecord[]> {
    const found = await reaching('read events that gather', () =>
      this.#model
        .find({ gathers: rangeBelow(gatheringPrefix(run)) }, { eventJson: 0 })
        .sort({ gathers: 1 })
        .limit(limit)
        .lean<RunDocument[]>(),
    );
    return this.#fields.records(found, recordOf); // one that cannot be read expires
  }

  /** Has one gather whose delay is over. */
  async gather(run: RunRecord): Promise<void> {
    const waitingFor = run.gathering?.kind ?? null;
    await this.#update(
      { _id: run.id, ...FREE, waitingFor: null },
      { $set: { waitingFor, ...placeOf({ ...run, waitingFor }) } },
    );
  }

  /** Has the group of one looked at now, when it is full. @param size of a full one */
  async wakeIfFull(run: RunRecord, size: number): Promise<void> {
    const group = { gathers: rangeBelow(gatheringPrefix(run)) };
    if ((await counted('count a group', this.#model, group, size)) >= size)
      await this.#update({ _id: run.id, ...FREE }, { $set: { wakeAt: run.updatedAt } });
  }

  /** Has those of a group that are due looked at later. @param now @param until ISO 8601 */
  async postpone(run: RunRecord, now: string, until: string): Promise<void> {
    const due = { gathers: rangeBelow(gatheringPrefix(run)), wakeAt: { $lte: now } };
    await reaching('have a group wait', () => this.#model.updateMany(due, { $set: { wakeAt: until } }));
  }

  /** Writes down for which events one stands, before anything becomes of their runs. */
  async claim(id: string, events: GatheredEvent[]): Promise<void> {
    await this.#update({ _id: id, ...FREE }, { $set: this.#fields.sealed(id, { events }) });
  }

  /** Queues one of a group, or a batch. */
  async release(run: RunRecord, changes: Pick<RunRecord, 'events' | 'eventBytes'>): Promise<void> {
    const queued = { state: 'queued', waitingFor: null } as const;
    const set = { ...this.#fields.sealed(run.id, changes), ...queued, ...placeOf({ ...run, ...changes, ...queued }) };
    await this.#update({ _id: run.id, ...FREE }, { $set: set, $unset: { gathers: 1 } });
  }

  /** @returns whether its event is in that batch, now or before */
  async join(id: string, batch: string): Promise<boolean> {
    if (await this.#update({ _id: id, ...FREE }, { $set: { batch }, $unset: { gathers: 1, wakeAt: 1 } })) return true;
    const found = await reaching('read a run', () => this.#model.findById(id, { batch: 1 }).lean<RunDocument>());
    return found?.batch === batch;
  }

  /** Batches that have ended, of which the runs of their events are not told. */
  async untold(limit: number): Promise<RunRecord[]> {
    const found = await reaching('look for batches', () =>
      this.#model.find({ untold: 'members', state: 'ended' }).limit(limit).lean<RunDocument[]>(),
    );
    return found.map((each) => recordOf(this.#fields.opened(each)));
  }

  /** It is no dead letter: the runs of its events are. */
  async told(id: string): Promise<void> {
    await this.#update({ _id: id }, { $unset: { untold: 1, deadLetter: 1 } });
  }

  async #update(filter: Record<string, unknown>, update: Record<string, unknown>): Promise<boolean> {
    const { matchedCount } = await reaching('change a run', () =>
      this.#model.updateOne(filter, update, { runValidators: true }),
    );
    return matchedCount > 0;
  }
}
