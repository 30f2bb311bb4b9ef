import type { FunctionSpec } from '../../../model/functions/function.ts';
import { type Backlog, countBacklogBytes, type RunRecord } from '../../../model/functions/run.ts';
import { type RunState, WAITING_STATES } from '../../../model/functions/run-state.ts';
import type { Holder } from '../../../model/functions/superseding.ts';
import { prefixRange } from '../../mongo/below.ts';
import { counted } from '../../mongo/count.ts';
import type { FunctionRef } from '../functions.ts';
import { type QueueFields, RunRepository } from '../run-document.ts';
import { getQueueFields, hashKey, NO_KEY, prefixOf } from '../run-place.ts';
import { type Full, RunSlots } from './run-slots.ts';
import { RunTickets, type Throttled } from './run-tickets.ts';

/** Queue rules of the version for which a run was accepted. */
export type QueueRules = Pick<FunctionSpec, 'concurrency' | 'throttle'>;
/** Reason why no run is admitted now, of one key or of all. */
export type AdmissionRefusal = Full | Throttled;
/** Version to which a run is bound at its admission. */
type BoundVersion = Pick<RunRecord, 'version' | 'versionDigest'>;

/** Next run of a key. */
export interface NextRun {
  key: string;
  run: RunRecord;
  /** False when its encrypted fields cannot be read. */
  isWhole: boolean;
}

/**
 * Queues of functions. `queued` is `<project>/<function>/<key>/<rank>/<id>`, which orders a function's runs by key, and
 * those of a key by acceptance and priority, so that one index read finds the next of each. Slots and tickets of
 * admitted runs are fields of them too: see run-slots.ts, run-tickets.ts.
 */
export class RunQueue extends RunRepository {
  readonly #slots = new RunSlots(this.model);
  readonly #tickets = new RunTickets(this.model);

  /** Returns the first run of the next key. @param after a key; `''`: from the first */
  async next(ref: FunctionRef, after: string): Promise<NextRun | null> {
    const start = `${prefixOf(ref)}/${after}`;
    const range = { queued: { $gt: after === '' ? start : `${start}0`, $lt: `${prefixOf(ref)}0` } };
    const [found] = await this.documents(range, { sort: { queued: 1 }, limit: 1 });
    if (!found) return null;
    const [, , key = NO_KEY] = (found.queued ?? '').split('/');
    const opened = this.encryption.openedIfReadable(found);
    return { key, run: this.recordOf(opened ?? found), isWhole: opened !== null };
  }

  /** Returns the functions with queued runs. */
  async functions(): Promise<FunctionRef[]> {
    const all: FunctionRef[] = [];
    for (let after = ''; ; ) {
      const selection = { sort: { queued: 1 }, limit: 1, only: { queued: 1 } } as const;
      const [found] = await this.documents({ queued: { $gt: after } }, selection);
      const [project, name] = (found?.queued ?? '').split('/');
      if (!project || !name) return all;
      all.push({ project, name });
      after = `${project}/${name}0`;
    }
  }

  /** Returns runs to wake by now: due, expired, or with a cancel whose process died. @param now ISO 8601 */
  async due(now: string, limit: number): Promise<RunRecord[]> {
    const found = await this.documents({ wakeAt: { $lte: now, $gt: '' } }, { sort: { wakeAt: 1 }, limit });
    return found.map((each) => this.recordOf(this.encryption.openedIfReadable(each) ?? each));
  }

  /** Moves a delayed run to its position in the queue. */
  async enqueue(run: RunRecord): Promise<void> {
    const place = getQueueFields({ ...run, state: 'queued' });
    await this.set({ _id: run.id, state: 'delayed' }, { state: 'queued', ...place });
  }

  /**
   * Admits a queued run, unless a concurrency or throttle rule forbids it. Usage is counted in the runs themselves; of
   * two concurrent claims of a slot or ticket the store refuses one.
   * @param version version to which it is bound; null: unchanged
   * @returns null when it is admitted, or not queued
   */
  async admit(
    run: RunRecord,
    rules: QueueRules,
    at: string,
    version: BoundVersion | null = null,
  ): Promise<AdmissionRefusal | null> {
    for (;;) {
      const slots = await this.#slots.free(run, rules.concurrency);
      if ('why' in slots) return slots;
      const ticket = await this.#tickets.next(run, rules.throttle, Date.parse(at));
      if (ticket && 'why' in ticket) return ticket;
      const taken = { ...slots, ...ticket, ...version };
      const admitted = { state: 'preparing', cleanup: 'pending', admitted: 'not-begun', waitingFor: null } as const;
      const set = { ...admitted, ...taken, admittedAt: at, updatedAt: at };
      try {
        await this.set({ _id: run.id, state: 'queued' }, set, ['queued', 'large', 'wakeAt', 'failedAdmissions']);
        return null;
      } catch (error) {
        // Servers report a duplicate key of an update in different ways, so the slots are read.
        if (!(await this.#slots.areHeld(slots)) && !(ticket && (await this.#tickets.isTaken(ticket)))) throw error;
      }
    }
  }

  /** Returns the ids of runs behind it in its lane, up to a limit, without unchecked ones, which delay no other. */
  async behind(run: RunRecord, upTo: number): Promise<string[]> {
    const { queued = '' } = getQueueFields({ ...run, state: 'queued' });
    const { $lt } = prefixRange(queued.split('/').slice(0, 3).join('/'));
    const after = { queued: { $gt: queued, $lt }, waitingFor: { $ne: 'check' } };
    const found = await this.documents(after, { sort: { queued: 1 }, limit: upTo, only: { _id: 1 } });
    return found.map(({ _id }) => _id);
  }

  /**
   * Returns the holders of a rule's slots for this run's key that have neither ended nor been cancelled. @param rule
   * its number
   */
  holders(run: RunRecord, rule: number): Promise<Holder[]> {
    return this.#slots.holders(run, rule);
  }

  /** Counts a failed admission. @returns failures so far */
  async failed(id: string): Promise<number> {
    const found = await this.model
      .findOneAndUpdate({ _id: id, state: 'queued' }, { $inc: { failedAdmissions: 1 } }, { returnDocument: 'after' })
      .lean<QueueFields>();
    return found?.failedAdmissions ?? 0;
  }

  /** Returns the backlog of a project. Sizes of large events are read, the rest is counted. */
  async waiting(project: string): Promise<Backlog> {
    const count = (state: RunState) => counted('count what waits', this.model, { project, state });
    const [states, [large]] = await Promise.all([
      Promise.all(WAITING_STATES.map(count)),
      this.model.aggregate<{ bytes: number }>([
        { $match: { large: project, state: { $in: WAITING_STATES } } },
        { $project: { eventBytes: 1 } },
        { $group: { _id: null, bytes: { $sum: '$eventBytes' } } },
      ]),
    ]);
    const runs = states.reduce((sum, each) => sum + each, 0);
    return { runs, bytes: countBacklogBytes(runs, large?.bytes ?? 0) };
  }

  count(ref: FunctionRef, upTo: number): Promise<number> {
    return counted('count a queue', this.model, { queued: prefixRange(prefixOf(ref)) }, upTo);
  }

  countOfKey(ref: FunctionRef, lane: string, upTo: number): Promise<number> {
    const query = { queued: prefixRange(`${prefixOf(ref)}/${hashKey(lane)}`) };
    return counted('count the queue of a key', this.model, query, upTo);
  }
}
