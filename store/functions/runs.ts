import { MayflyError } from '../../model/errors.ts';
import { digestOfKey } from '../../model/functions/key-digest.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import {
  type Cleanup,
  isUnsettled,
  type RunOutcome,
  type RunState,
  UNDER_WAY,
} from '../../model/functions/run-state.ts';
import { isRunId } from '../../model/ids.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import { bytesOf } from '../mongo/bytes.ts';
import { DUPLICATE_KEY, reaching, refusalsOf } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import type { Filter } from '../repository/repository.ts';
import { olderThan, type Page, type PageQuery, pageOf } from '../sealed/page-cursor.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';
import { type RunDocument, RunRepository } from './run-document.ts';
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

type RunChanges = Partial<Omit<RunRecord, 'id' | 'project' | 'function' | 'dedupe'>>;

/** Fields of a run that can be read when another is damaged. */
export type DamagedRun = Pick<RunRecord, 'id' | 'tries' | 'member' | 'members' | 'retentionDays' | 'updatedAt'>;

/** Who wants a run to end, and which run took its place, where one did. */
type CancelWish = { cancelledBy: Actor; updatedAt: string; supersededBy?: string };

/** Who wants a run to end tells it at once, or has died. Milliseconds. */
const TOLD_WITHIN_MS = 5_000;
const ADMITTED = ['not-begun', 'begun'] as const;
/** Frees its slots: nothing of it is left, or nobody can look. */
const FREED = ['admitted', 'slot0', 'slot1'] as const;
/** Nobody admits it any more. */
const UNQUEUED = ['queued', 'large', 'gathers', 'unchecked', 'wakeAt'] as const;
const DAY_MS = 86_400_000;

/** The runs of functions, one document each, `_id` = run id, which is made of what makes two events the same. */
export class Runs extends RunRepository {
  readonly #accepted = new GroupCommit((documents: RunDocument[]) => this.#insertAll(documents));

  /**
   * Writes one down, with its event unless that is kept by itself.
   * @returns false: there is one of that id
   */
  accept({ id, ...rest }: RunRecord, eventJson: Uint8Array | null): Promise<boolean> {
    this.checked(id);
    const key = firstKeyOf(rest);
    const places = { ...placeOf({ id, ...rest }), ...(key !== NO_KEY && { keyed: key }) };
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

  /** How far those are, of their ends alone; who is not in it is not there. */
  async ends(ids: readonly string[]): Promise<Map<string, Pick<RunRecord, 'state' | 'cleanup'>>> {
    const $in = ids.map((id) => this.checked(id));
    const found = await this.documents({ _id: { $in } }, { only: { state: 1, cleanup: 1 } });
    return new Map(found.map(({ _id, state, cleanup }) => [_id, { state, cleanup }]));
  }

  /** The event, in the JSON format of CloudEvents, as far as it is in its document; null: it is large, or not there. */
  async eventOf(id: string): Promise<Uint8Array | null> {
    const [found] = await this.documents({ _id: this.checked(id) });
    const kept = found && this.encryption.opened(found).eventJson;
    return kept ? bytesOf(kept) : null;
  }

  /**
   * One page of those of a project, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list({ limit, ...query }: RunQuery): Promise<Page<RunRecord>> {
    const found = await this.documents(filterOf(query), { sort: { acceptedAt: -1, _id: -1 }, limit: limit + 1 });
    return pageOf(this.encryption, found, { limit, at: ({ acceptedAt }) => acceptedAt, recordOf: this.recordOf });
  }

  /** Whether runs of a function were admitted, of which something may be left, or are delayed, also such that cannot be read. */
  async areOpen(of: { project: string; function: string }): Promise<boolean> {
    const has = async (filter: Filter<RunDocument>) =>
      (await this.documents({ ...of, ...filter }, { only: { _id: 1 }, limit: 1 })).length > 0;
    return (await has({ admitted: { $in: [...ADMITTED] } })) || has({ state: 'delayed' });
  }

  /**
   * Those that were admitted, of which something may be left.
   * @param of all functions, unless one is named @param unreadable takes those that cannot be read
   */
  async admitted(
    of: { project: string; function: string } | null = null,
    unreadable?: Unreadable[],
  ): Promise<RunRecord[]> {
    return this.find({ admitted: { $in: [...ADMITTED] }, ...of }, { unreadable });
  }

  /** Admitted ones with a damaged field, by what is not encrypted. One whose key is missing is not among them. */
  async damaged(): Promise<DamagedRun[]> {
    const found = await this.documents({ admitted: { $in: [...ADMITTED] } });
    return found.filter((run) => this.encryption.isDamaged(run)).map(({ _id: id, ...run }) => ({ id, ...run }));
  }

  /** Those that were admitted before then, and whose workflow has not begun. @param before ISO 8601 */
  async notBegun(before: string): Promise<RunRecord[]> {
    return this.find({ admitted: 'not-begun', admittedAt: { $lt: before } });
  }

  /** As {@link change}, of one whose workflow has begun. */
  async begin(id: string, states: readonly RunState[], changes: RunChanges): Promise<boolean> {
    return this.set({ _id: this.checked(id), state: { $in: [...states] } }, { ...changes, admitted: 'begun' });
  }

  /** Sets the given fields of one that is in one of these states. @returns false: it is not */
  async change(id: string, states: readonly RunState[], changes: RunChanges): Promise<boolean> {
    return this.set({ _id: this.checked(id), state: { $in: [...states] } }, changes);
  }

  /**
   * Writes down who wants one that is under way to end. Its workflow is told afterwards, and then {@link cancelTold}: who dies
   * before that is found by the upkeep.
   * @returns false: it is not under way
   */
  async wishCancel(id: string, changes: CancelWish): Promise<boolean> {
    const wakeAt = new Date(Date.parse(changes.updatedAt) + TOLD_WITHIN_MS).toISOString();
    return this.set({ _id: this.checked(id), state: { $in: [...UNDER_WAY] } }, { ...changes, wakeAt });
  }

  async cancelTold(id: string): Promise<void> {
    await this.set({ _id: this.checked(id), state: { $in: [...UNDER_WAY] } }, {}, ['wakeAt']);
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
    const removeAfter = new Date(Date.parse(changes.endedAt) + retentionDays * DAY_MS).toISOString();
    const hadMachine = states.some((state) => state !== 'delayed' && state !== 'queued');
    const unsigned = hadMachine ? {} : { unsigned: changes.endedAt };
    const kept = {
      removeAfter,
      untoldEnd: changes.endedAt,
      ...unsigned,
      ...(isUnsettled(changes.outcome) && { deadLetter: 'yes' as const }),
    };
    const set = { ...changes, state: 'ended', waitingFor: null, ...kept } as const;
    return this.set({ _id: this.checked(id), state: { $in: [...states] }, batch, ...of }, set, UNQUEUED);
  }

  /** Marks a dead letter: another run is in its place. @returns false: it is none, or is marked */
  async redriven(id: string, redrivenAs: string): Promise<boolean> {
    return this.set({ _id: this.checked(id), deadLetter: 'yes' }, { redrivenAs }, ['deadLetter']);
  }

  /** Gives the slots of one that has ended back: nothing of it is left, or nobody can look. */
  async free(id: string, changes: RunChanges & { cleanup: Cleanup }): Promise<void> {
    const at = steadyClock.iso();
    await this.set({ _id: this.checked(id) }, { ...changes, unsigned: at, untoldCleanup: at }, FREED);
  }

  /** Puts an admitted one back into the queue, in its place; its slots are free. @returns false: it is not under way any more */
  async requeue(record: RunRecord, changes: RunChanges): Promise<boolean> {
    const { id } = record;
    const queued = { ...record, ...changes, state: 'queued' } as const;
    const set = { ...changes, state: 'queued', ...placeOf(queued) } as const;
    return this.set({ _id: id, state: record.state, admitted: 'begun' }, set, FREED);
  }

  /** Of one that a store which was set back knows less of than its workflow, and which has not ended. */
  async restore({ id, tries }: RunRecord, changes: Pick<RunRecord, 'attempts' | 'tries'>): Promise<void> {
    const under = { state: 'preparing', cleanup: 'pending', admitted: 'begun', waitingFor: null } as const;
    await this.set({ _id: this.checked(id), tries, state: { $ne: 'ended' } }, { ...changes, ...under }, UNQUEUED);
  }

  async #insertAll(documents: RunDocument[]): Promise<boolean[]> {
    try {
      const runs = this.connection.collection<RunDocument>('runs');
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
}

function filterOf({ cursor, keys, since, until, deadLetter, ...of }: Omit<RunQuery, 'limit'>): Filter<RunDocument> {
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
