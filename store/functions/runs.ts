import { MayflyError } from '../../model/errors.ts';
import { digestKey } from '../../model/functions/key-digest.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import {
  ACTIVE_STATES,
  type Cleanup,
  isDeadLetterOutcome,
  type RunOutcome,
  type RunState,
} from '../../model/functions/run-state.ts';
import { isRunId } from '../../model/ids.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import { bytesOf } from '../mongo/bytes.ts';
import { DUPLICATE_KEY, getWriteErrors, withStoreErrors } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import type { Filter } from '../repository/repository.ts';
import { cursorFilter, type Page, type PageQuery, toPage } from '../sealed/page-cursor.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';
import { type RunDocument, RunRepository } from './run-document.ts';
import { getQueueFields, hashFirstKey, NO_KEY } from './run-place.ts';

export interface RunQuery extends PageQuery {
  function?: string | undefined;
  state?: RunState | undefined;
  outcome?: RunOutcome | undefined;
  /** Values, as JSON, that match the first concurrency key. */
  keys?: string[] | undefined;
  /** Earliest acceptance, inclusive, ISO 8601. */
  since?: string | undefined;
  /** Latest acceptance, exclusive, ISO 8601. */
  until?: string | undefined;
  /** Only runs that failed and were not redriven. `@default` false */
  deadLetter?: boolean | undefined;
}

type RunChanges = Partial<Omit<RunRecord, 'id' | 'project' | 'function' | 'dedupe'>>;

/** Fields of a run that can be read when another is damaged. */
export type DamagedRun = Pick<RunRecord, 'id' | 'tries' | 'member' | 'members' | 'retentionDays' | 'updatedAt'>;

/** Actor of a cancel, and the run that replaced the cancelled one, if any. */
type CancelRequest = { cancelledBy: Actor; updatedAt: string; supersededBy?: string };

/** Time after which a process that did not notify the workflow of a cancel is presumed dead, ms. */
const CANCEL_DELIVERY_MS = 5_000;
const ADMITTED = ['not-begun', 'begun'] as const;
/** Fields that hold slots, removed when the cleanup is complete or impossible to check. */
const FREED = ['admitted', 'slot0', 'slot1'] as const;
/** Fields that make a run eligible for admission. */
const UNQUEUED = ['queued', 'large', 'gathers', 'unchecked', 'wakeAt'] as const;
const DAY_MS = 86_400_000;

/** Runs of functions, `_id` = run id, which is derived from the dedupe key of its event. */
export class Runs extends RunRepository {
  readonly #accepted = new GroupCommit((documents: RunDocument[]) => this.#insertAll(documents));

  /** Inserts a run, with its event unless that is stored separately. @returns false when that id exists */
  accept({ id, ...rest }: RunRecord, eventJson: Uint8Array | null): Promise<boolean> {
    this.checked(id);
    const key = hashFirstKey(rest);
    const places = { ...getQueueFields({ id, ...rest }), ...(key !== NO_KEY && { keyed: key }) };
    const fields = {
      ...rest,
      eventJson: eventJson && Buffer.from(eventJson),
      ...places,
      ...(rest.isBatch && { untold: 'members' as const }),
    };
    return this.#accepted.add({ ...this.encryption.sealed(id, fields), _id: id });
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<RunRecord | null> {
    return this.findById(id);
  }

  /** Returns the states of runs and of their cleanup; unknown runs are absent. */
  async ends(ids: readonly string[]): Promise<Map<string, Pick<RunRecord, 'state' | 'cleanup'>>> {
    const $in = ids.map((id) => this.checked(id));
    const found = await this.documents({ _id: { $in } }, { only: { state: 1, cleanup: 1 } });
    return new Map(found.map(({ _id, state, cleanup }) => [_id, { state, cleanup }]));
  }

  /**
   * Returns the event in the JSON format of CloudEvents, if it is in the run's document; null when it is large or
   * missing.
   */
  async eventOf(id: string): Promise<Uint8Array | null> {
    const [found] = await this.documents({ _id: this.checked(id) });
    const kept = found && this.encryption.opened(found).eventJson;
    return kept ? bytesOf(kept) : null;
  }

  /**
   * Returns one page of a project's runs, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list({ limit, ...query }: RunQuery): Promise<Page<RunRecord>> {
    const found = await this.documents(filterOf(query), { sort: { acceptedAt: -1, _id: -1 }, limit: limit + 1 });
    return toPage(this.encryption, found, { limit, at: ({ acceptedAt }) => acceptedAt, recordOf: this.recordOf });
  }

  /** Reports whether a function has admitted runs whose cleanup may be incomplete, or delayed ones, readable or not. */
  async areOpen(of: { project: string; function: string }): Promise<boolean> {
    const has = async (filter: Filter<RunDocument>) =>
      (await this.documents({ ...of, ...filter }, { only: { _id: 1 }, limit: 1 })).length > 0;
    return (await has({ admitted: { $in: [...ADMITTED] } })) || has({ state: 'delayed' });
  }

  /**
   * Returns the admitted runs, whose cleanup may be incomplete.
   * @param of function. `@default` all @param unreadable collects the unreadable ones
   */
  async admitted(
    of: { project: string; function: string } | null = null,
    unreadable?: Unreadable[],
  ): Promise<RunRecord[]> {
    return this.find({ admitted: { $in: [...ADMITTED] }, ...of }, { unreadable });
  }

  /** Returns the unencrypted fields of admitted runs with a damaged field. Excludes runs whose key is missing. */
  async damaged(): Promise<DamagedRun[]> {
    const found = await this.documents({ admitted: { $in: [...ADMITTED] } });
    return found.filter((run) => this.encryption.isDamaged(run)).map(({ _id: id, ...run }) => ({ id, ...run }));
  }

  /** Returns runs that were admitted before then and whose workflow has not started. @param before ISO 8601 */
  async notBegun(before: string): Promise<RunRecord[]> {
    return this.find({ admitted: 'not-begun', admittedAt: { $lt: before } });
  }

  /** As {@link change}, and records that the workflow has started. */
  async begin(id: string, states: readonly RunState[], changes: RunChanges): Promise<boolean> {
    return this.set({ _id: this.checked(id), state: { $in: [...states] } }, { ...changes, admitted: 'begun' });
  }

  /** Sets fields of a run that is in one of these states. @returns false when it is not */
  async change(id: string, states: readonly RunState[], changes: RunChanges): Promise<boolean> {
    return this.set({ _id: this.checked(id), state: { $in: [...states] } }, changes);
  }

  /**
   * Records the cancel of a run under way. The caller then notifies its workflow and calls {@link cancelTold}; the
   * upkeep finds a cancel whose process died before that.
   * @returns false when it is not under way
   */
  async wishCancel(id: string, changes: CancelRequest): Promise<boolean> {
    const wakeAt = new Date(Date.parse(changes.updatedAt) + CANCEL_DELIVERY_MS).toISOString();
    return this.set({ _id: this.checked(id), state: { $in: [...ACTIVE_STATES] } }, { ...changes, wakeAt });
  }

  async cancelTold(id: string): Promise<void> {
    await this.set({ _id: this.checked(id), state: { $in: [...ACTIVE_STATES] } }, {}, ['wakeAt']);
  }

  /**
   * Records the end of a run, which is then to be published; later calls change nothing.
   * @param states states in which it may be @param batch batch that has its event; null for none @param waitingFor
   * reason for which it must wait
   * @returns false when it has ended, is in another state or batch, or waits for another reason
   */
  async end(
    id: string,
    states: readonly Exclude<RunState, 'ended'>[],
    changes: RunChanges & { outcome: RunOutcome; endedAt: string },
    retentionDays: number,
    { batch = null, ...of }: Partial<Pick<RunRecord, 'batch' | 'waitingFor'>> = {},
  ): Promise<boolean> {
    const removeAfter = new Date(Date.parse(changes.endedAt) + retentionDays * DAY_MS).toISOString();
    const hadMachine = states.some((state) => state !== 'delayed' && state !== 'queued');
    const unsigned = hadMachine ? {} : { unsigned: changes.endedAt };
    const kept = {
      removeAfter,
      untoldEnd: changes.endedAt,
      ...unsigned,
      ...(isDeadLetterOutcome(changes.outcome) && { deadLetter: 'yes' as const }),
    };
    const set = { ...changes, state: 'ended', waitingFor: null, ...kept } as const;
    return this.set({ _id: this.checked(id), state: { $in: [...states] }, batch, ...of }, set, UNQUEUED);
  }

  /** Marks a dead letter as replaced by another run. @returns false when it is none, or is marked */
  async redriven(id: string, redrivenAs: string): Promise<boolean> {
    return this.set({ _id: this.checked(id), deadLetter: 'yes' }, { redrivenAs }, ['deadLetter']);
  }

  /** Releases the slots of an ended run: the cleanup is complete or impossible to check. */
  async free(id: string, changes: RunChanges & { cleanup: Cleanup }): Promise<void> {
    const at = steadyClock.iso();
    await this.set({ _id: this.checked(id) }, { ...changes, unsigned: at, untoldCleanup: at }, FREED);
  }

  /**
   * Moves an admitted run to its position in the queue and releases its slots. @returns false when it has left its
   * state
   */
  async requeue(record: RunRecord, changes: RunChanges): Promise<boolean> {
    const { id } = record;
    const queued = { ...record, ...changes, state: 'queued' } as const;
    const set = { ...changes, state: 'queued', ...getQueueFields(queued) } as const;
    return this.set({ _id: id, state: record.state, admitted: 'begun' }, set, FREED);
  }

  /** Restores a run that has not ended, when its workflow has newer attempts than a store that was set back. */
  async restore({ id, tries }: RunRecord, changes: Pick<RunRecord, 'attempts' | 'tries'>): Promise<void> {
    const under = { state: 'preparing', cleanup: 'pending', admitted: 'begun', waitingFor: null } as const;
    await this.set({ _id: this.checked(id), tries, state: { $ne: 'ended' } }, { ...changes, ...under }, UNQUEUED);
  }

  async #insertAll(documents: RunDocument[]): Promise<boolean[]> {
    try {
      const runs = this.connection.collection<RunDocument>('runs');
      await withStoreErrors('accept runs', () => runs.insertMany(documents as never[], { ordered: false }));
      return documents.map(() => true);
    } catch (error) {
      const refusals = getWriteErrors(error);
      if (refusals === null) throw error;
      return documents.map((document, n) => {
        const refusal = refusals.get(n);
        if (!refusal) return true;
        if (refusal.code === DUPLICATE_KEY) return false;
        throw new MayflyError('store_unavailable', `The store refused ${document._id}: ${refusal.errmsg ?? ''}`);
      });
    }
  }
}

function filterOf({ cursor, keys, since, until, deadLetter, ...of }: Omit<RunQuery, 'limit'>): Filter<RunDocument> {
  const named = Object.entries(of).filter(([, value]) => value !== undefined);
  const { acceptedAt: older, ...rest } = cursorFilter(cursor, 'acceptedAt', isRunId) as Record<string, object>;
  const range = { ...(until && { $lt: until }), ...older, ...(since && { $gte: since }) };
  return {
    ...Object.fromEntries(named),
    ...(keys && { keyed: { $in: keys.map(digestKey) } }),
    ...(deadLetter && { deadLetter: 'yes' }),
    ...(Object.keys(range).length > 0 && { acceptedAt: range }),
    ...rest,
  };
}
