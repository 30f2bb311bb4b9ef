import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { digestOfKey } from '../../model/functions/key-digest.ts';
import {
  type Cleanup,
  isUnsettled,
  type RunOutcome,
  type RunRecord,
  type RunState,
  UNDER_WAY,
} from '../../model/functions/run.ts';
import { isRunId } from '../../model/ids.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import { bytesOf } from '../mongo/bytes.ts';
import { DUPLICATE_KEY, reaching, refusalsOf } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { olderThan, type Page, type PageQuery, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import { type RunDocument, recordOf, runSchema } from './run-document.ts';
import { checked } from './run-id.ts';
import { firstKeyOf, NO_KEY, placeOf } from './run-place.ts';

export interface RunQuery extends PageQuery {
  function?: string | undefined;
  state?: RunState | undefined;
  outcome?: RunOutcome | undefined;
  /** Values, as JSON, of which its first concurrency key has one. */
  keys?: string[] | undefined;
  /** Accepted then or later. ISO 8601. */
  since?: string | undefined;
  /** Accepted before then. ISO 8601. */
  until?: string | undefined;
  /** Only those that ended otherwise than well, and were not redriven. `@default` false */
  deadLetter?: boolean | undefined;
}

export type RunChanges = Partial<Omit<RunRecord, 'id' | 'project' | 'function' | 'dedupe'>>;

/** Who wants a run to end, and which run took its place, where one did. */
export type CancelWish = { cancelledBy: Actor; updatedAt: string; supersededBy?: string };

/** Who wants a run to end tells it at once, or has died. Milliseconds. */
const TOLD_WITHIN_MS = 5_000;
const ADMITTED = ['not-begun', 'begun'] as const;
/** Frees its slots: nothing of it is left, or nobody can look. */
const FREED = { admitted: 1, slot0: 1, slot1: 1 } as const;
/** Nobody admits it any more. */
const UNQUEUED = { queued: 1, large: 1, gathers: 1, unchecked: 1, wakeAt: 1 } as const;
const DAY_MS = 86_400_000;

/** The runs of functions, one document each, `_id` = run id, which is made of what makes two events the same. */
export class Runs {
  readonly #connection: Connection;
  readonly #model: Model<RunDocument>;
  readonly #fields: SealedFields;
  readonly #accepted = new GroupCommit((documents: RunDocument[]) => this.#insertAll(documents));

  constructor(connection: Connection, sealing: Sealing) {
    this.#connection = connection;
    this.#fields = sealing.of('runs');
    this.#model = connection.model<RunDocument>('Run', runSchema(), 'runs');
  }

  /**
   * Writes one down, with its event unless that is kept by itself.
   * @returns false: there is one of that id
   */
  accept({ id, ...rest }: RunRecord, eventJson: Uint8Array | null): Promise<boolean> {
    checked(id);
    const key = firstKeyOf(rest);
    const places = { ...placeOf({ id, ...rest }), ...(key !== NO_KEY && { keyed: key }) };
    const fields = {
      ...rest,
      eventJson: eventJson && Buffer.from(eventJson),
      ...places,
      ...(rest.isBatch && { untold: 'members' as const }),
    };
    return this.#accepted.add({ ...this.#fields.sealed(id, fields), _id: id });
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<RunRecord | null> {
    checked(id);
    const found = await this.#find(id);
    return found && this.#record(found);
  }

  /** How far those are, of their ends alone; who is not in it is not there. */
  async ends(ids: readonly string[]): Promise<Map<string, Pick<RunRecord, 'state' | 'cleanup'>>> {
    ids.forEach(checked);
    const found = await reaching('read the ends of runs', () =>
      this.#model.find({ _id: { $in: [...ids] } }, { state: 1, cleanup: 1 }).lean<RunDocument[]>(),
    );
    return new Map(found.map(({ _id, state, cleanup }) => [_id, { state, cleanup }]));
  }

  /** The event, in the JSON format of CloudEvents, as far as it is in its document; null: it is large, or not there. */
  async eventOf(id: string): Promise<Uint8Array | null> {
    checked(id);
    const found = await this.#find(id);
    const kept = found && this.#fields.opened(found).eventJson;
    return kept ? bytesOf(kept) : null;
  }

  /**
   * One page of those of a project, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list({ limit, ...query }: RunQuery): Promise<Page<RunRecord>> {
    const filter = filterOf(query);
    const found = await reaching('list runs', () =>
      this.#model
        .find(filter)
        .sort({ acceptedAt: -1, _id: -1 })
        .limit(limit + 1)
        .lean<RunDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ acceptedAt }) => acceptedAt, recordOf });
  }

  /** Whether runs of a function were admitted, of which something may be left, or are delayed, also such that cannot be read. */
  async areOpen(of: { project: string; function: string }): Promise<boolean> {
    const has = (filter: Record<string, unknown>) =>
      reaching('look for runs under way', () => this.#model.findOne({ ...of, ...filter }, { _id: 1 }).lean());
    return ((await has({ admitted: { $in: [...ADMITTED] } })) ?? (await has({ state: 'delayed' }))) !== null;
  }

  /** Those that were admitted, of which something may be left. @param of all functions, unless one is named */
  async admitted(of: { project: string; function: string } | null = null): Promise<RunRecord[]> {
    const found = await reaching('read the runs under way', () =>
      this.#model.find({ admitted: { $in: [...ADMITTED] }, ...of }).lean<RunDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** Those that were admitted before then, and whose workflow has not begun. @param before ISO 8601 */
  async notBegun(before: string): Promise<RunRecord[]> {
    const found = await reaching('read the runs that were not begun', () =>
      this.#model.find({ admitted: 'not-begun', admittedAt: { $lt: before } }).lean<RunDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** As {@link change}, of one whose workflow has begun. */
  async begin(id: string, states: readonly RunState[], changes: RunChanges): Promise<boolean> {
    checked(id);
    const set = { ...this.#fields.sealed(id, changes), admitted: 'begun' };
    return this.#update({ _id: id, state: { $in: [...states] } }, { $set: set });
  }

  /** Sets the given fields of one that is in one of these states. @returns false: it is not */
  async change(id: string, states: readonly RunState[], changes: RunChanges): Promise<boolean> {
    checked(id);
    return this.#update({ _id: id, state: { $in: [...states] } }, { $set: this.#fields.sealed(id, changes) });
  }

  /**
   * Writes down who wants one that is under way to end. Its workflow is told afterwards, and then {@link cancelTold}: who dies
   * before that is found by the upkeep.
   * @returns false: it is not under way
   */
  async wishCancel(id: string, changes: CancelWish): Promise<boolean> {
    checked(id);
    const wakeAt = new Date(Date.parse(changes.updatedAt) + TOLD_WITHIN_MS).toISOString();
    return this.#update({ _id: id, state: { $in: [...UNDER_WAY] } }, { $set: { ...changes, wakeAt } });
  }

  async cancelTold(id: string): Promise<void> {
    checked(id);
    await this.#update({ _id: id, state: { $in: [...UNDER_WAY] } }, { $unset: { wakeAt: 1 } });
  }

  /**
   * Writes how one ended, which is to be told; who comes later changes nothing of it.
   * @param states those in which it may be @param batch that which has its event; null: none @param waitingFor what it has to wait for
   * @returns false: it had ended, is in another state, its event is in another batch, or it waits for something else
   */
  async end(
    id: string,
    states: readonly Exclude<RunState, 'ended'>[],
    changes: RunChanges & { outcome: RunOutcome; endedAt: string },
    retentionDays: number,
    { batch = null, ...of }: Partial<Pick<RunRecord, 'batch' | 'waitingFor'>> = {},
  ): Promise<boolean> {
    checked(id);
    const removeAfter = new Date(Date.parse(changes.endedAt) + retentionDays * DAY_MS).toISOString();
    const hadMachine = states.some((state) => state !== 'delayed' && state !== 'queued');
    const unsigned = hadMachine ? {} : { unsigned: changes.endedAt };
    const kept = {
      removeAfter,
      untoldEnd: changes.endedAt,
      ...unsigned,
      ...(isUnsettled(changes.outcome) && { deadLetter: 'yes' }),
    };
    const set = { ...this.#fields.sealed(id, changes), state: 'ended', waitingFor: null, ...kept };
    return this.#update({ _id: id, state: { $in: [...states] }, batch, ...of }, { $set: set, $unset: UNQUEUED });
  }

  /** Marks a dead letter: another run is in its place. @returns false: it is none, or is marked */
  async redriven(id: string, redrivenAs: string): Promise<boolean> {
    checked(id);
    return this.#update({ _id: id, deadLetter: 'yes' }, { $set: { redrivenAs }, $unset: { deadLetter: 1 } });
  }

  /** Gives the slots of one that has ended back: nothing of it is left, or nobody can look. */
  async free(id: string, changes: RunChanges & { cleanup: Cleanup }): Promise<void> {
    checked(id);
    const at = steadyClock.iso();
    const set = { ...this.#fields.sealed(id, changes), unsigned: at, untoldCleanup: at };
    await this.#update({ _id: id }, { $set: set, $unset: FREED });
  }

  /** Puts an admitted one back into the queue, in its place; its slots are free. @returns false: it is not under way any more */
  async requeue(record: RunRecord, changes: RunChanges): Promise<boolean> {
    const { id } = record;
    const queued = { ...record, ...changes, state: 'queued' } as const;
    const set = { ...this.#fields.sealed(id, changes), state: 'queued', ...placeOf(queued) };
    return this.#update({ _id: id, state: record.state, admitted: 'begun' }, { $set: set, $unset: FREED });
  }

  /** Of one that a store which was set back knows less of than its workflow, and which has not ended. */
  async restore({ id, tries }: RunRecord, changes: Pick<RunRecord, 'attempts' | 'tries'>): Promise<void> {
    checked(id);
    const under = { state: 'preparing', cleanup: 'pending', admitted: 'begun', waitingFor: null };
    await this.#update(
      { _id: id, tries, state: { $ne: 'ended' } },
      { $set: { ...this.#fields.sealed(id, changes), ...under }, $unset: UNQUEUED },
    );
  }

  #find(id: string): Promise<RunDocument | null> {
    return reaching('read a run', () => this.#model.findById(id).lean<RunDocument>());
  }

  async #update(filter: Record<string, unknown>, update: Record<string, unknown>): Promise<boolean> {
    const { matchedCount } = await reaching('change a run', () =>
      this.#model.updateOne(filter, update, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  async #insertAll(documents: RunDocument[]): Promise<boolean[]> {
    try {
      const runs = this.#connection.collection<RunDocument>('runs');
      await reaching('accept runs', () => runs.insertMany(documents as never[], { ordered: false }));
      return documents.map(() => true);
    } catch (error) {
      const refusals = refusalsOf(error);
      if (refusals === null) throw error;
      return documents.map((document, n) => {
        const refusal = refusals.get(n);
        if (!refusal) return true;
        if (refusal.code === DUPLICATE_KEY) return false;
        throw new MayflyError('store_unavailable', `The store refused ${document._id}: ${refusal.errmsg ?? ''}`);
      });
    }
  }

  #record(document: RunDocument): RunRecord {
    return recordOf(this.#fields.opened(document));
  }
}

function filterOf({ cursor, keys, since, until, deadLetter, ...of }: Omit<RunQuery, 'limit'>): Record<string, unknown> {
  const named = Object.entries(of).filter(([, value]) => value !== undefined);
  const { acceptedAt: older, ...rest } = olderThan(cursor, 'acceptedAt', isRunId) as Record<string, object>;
  const range = { ...(until && { $lt: until }), ...older, ...(since && { $gte: since }) };
  return {
    ...Object.fromEntries(named),
    ...(keys && { keyed: { $in: keys.map(digestOfKey) } }),
    ...(deadLetter && { deadLetter: 'yes' }),
    ...(Object.keys(range).length > 0 && { acceptedAt: range }),
    ...rest,
  };
}
