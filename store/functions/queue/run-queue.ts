import type { FunctionSpec } from '../../../model/functions/function.ts';
import { countedBytes, type RunRecord, type Waiting } from '../../../model/functions/run.ts';
import { type RunState, WAITING } from '../../../model/functions/run-state.ts';
import type { Holder } from '../../../model/functions/superseding.ts';
import { rangeBelow } from '../../mongo/below.ts';
import { counted } from '../../mongo/count.ts';
import type { FunctionRef } from '../functions.ts';
import { type QueueFields, RunRepository } from '../run-document.ts';
import { hashOf, NO_KEY, placeOf, prefixOf } from '../run-place.ts';
import { type Full, RunSlots } from './run-slots.ts';
import { RunTickets, type TooSoon } from './run-tickets.ts';

/** The rules of what a run was accepted for. */
export type QueueRules = Pick<FunctionSpec, 'concurrency' | 'throttle'>;
/** Why none is admitted of a key now, or of all. */
export type Held = Full | TooSoon;
/** What a run is bound to when it is admitted. */
type Bound = Pick<RunRecord, 'version' | 'versionDigest'>;

/** The next of a key. */
export interface Next {
  key: string;
  run: RunRecord;
  /** False: what is sealed of it can't be read. */
  isWhole: boolean;
}

/**
 * The queues of functions. `queued` is `<project>/<function>/<key>/<rank>/<id>`: so the runs of a function stand by keys, and
 * those of a key by when they were accepted, and the next of each is found by one look at one index, however many there are.
 * What a run takes to be admitted are fields of it, too: see run-slots.ts, run-tickets.ts.
 */
export class RunQueue extends RunRepository {
  readonly #slots = new RunSlots(this.model);
  readonly #tickets = new RunTickets(this.model);

  /** The first of the next key. @param after a key; `''`: from the first */
  async next(ref: FunctionRef, after: string): Promise<Next | null> {
    const start = `${prefixOf(ref)}/${after}`;
    const range = { queued: { $gt: after === '' ? start : `${start}0`, $lt: `${prefixOf(ref)}0` } };
    const [found] = await this.documents(range, { sort: { queued: 1 }, limit: 1 });
    if (!found) return null;
    const [, , key = NO_KEY] = (found.queued ?? '').split('/');
    const opened = this.encryption.openedIfReadable(found);
    return { key, run: this.recordOf(opened ?? found), isWhole: opened !== null };
  }

  /** The functions that have runs in their queues. */
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

  /** Those that are to be looked at by now: what is due, what has expired, and what was cancelled by somebody who died. @param now ISO 8601 */
  async due(now: string, limit: number): Promise<RunRecord[]> {
    const found = await this.documents({ wakeAt: { $lte: now, $gt: '' } }, { sort: { wakeAt: 1 }, limit });
    return found.map((each) => this.recordOf(this.encryption.openedIfReadable(each) ?? each));
  }

  /** Puts a delayed one into its place in the queue. */
  async enqueue(run: RunRecord): Promise<void> {
    const place = placeOf({ ...run, state: 'queued' });
    await this.set({ _id: run.id, state: 'delayed' }, { state: 'queued', ...place });
  }

  /**
   * Admits one that is queued, unless a rule says that too many are under way, or began lately. What is under way is counted in
   * the runs themselves; of two that take the same slot or ticket at once the store refuses one.
   * @param version what it is bound to with that; null: as it is
   * @returns null: it is admitted, or is not queued any more
   */
  async admit(run: RunRecord, rules: QueueRules, at: string, version: Bound | null = null): Promise<Held | null> {
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
        // Servers say differently that an update would make a second one: so it is looked at.
        if (!(await this.#slots.areHeld(slots)) && !(ticket && (await this.#tickets.isTaken(ticket)))) throw error;
      }
    }
  }

  /** Those that wait in its lane after it, their ids, up to so many; what is not checked yet takes nobody's place. */
  async behind(run: RunRecord, upTo: number): Promise<string[]> {
    const { queued = '' } = placeOf({ ...run, state: 'queued' });
    const { $lt } = rangeBelow(queued.split('/').slice(0, 3).join('/'));
    const after = { queued: { $gt: queued, $lt }, waitingFor: { $ne: 'check' } };
    const found = await this.documents(after, { sort: { queued: 1 }, limit: upTo, only: { _id: 1 } });
    return found.map(({ _id }) => _id);
  }

  /** Those of a rule with the key of this one that nobody has cancelled and that have not ended. @param rule its number */
  holders(run: RunRecord, rule: number): Promise<Holder[]> {
    return this.#slots.holders(run, rule);
  }

  /** Counts that one could not be admitted. @returns how often that was */
  async failed(id: string): Promise<number> {
    const found = await this.model
      .findOneAndUpdate({ _id: id, state: 'queued' }, { $inc: { failedAdmissions: 1 } }, { returnDocument: 'after' })
      .lean<QueueFields>();
    return found?.failedAdmissions ?? 0;
  }

  /** What of a project waits. What is large is read, and the rest counted. */
  async waiting(project: string): Promise<Waiting> {
    const count = (state: RunState) => counted('count what waits', this.model, { project, state });
    const [states, [large]] = await Promise.all([
      Promise.all(WAITING.map(count)),
      this.model.aggregate<{ bytes: number }>([
        { $match: { large: project, state: { $in: WAITING } } },
        { $project: { eventBytes: 1 } },
        { $group: { _id: null, bytes: { $sum: '$eventBytes' } } },
      ]),
    ]);
    const runs = states.reduce((sum, each) => sum + each, 0);
    return { runs, bytes: countedBytes(runs, large?.bytes ?? 0) };
  }

  /** How many of a function are queued, up to so many. */
  count(ref: FunctionRef, upTo: number): Promise<number> {
    return counted('count a queue', this.model, { queued: rangeBelow(prefixOf(ref)) }, upTo);
  }

  /** How many of one key of a function are queued, up to so many. */
  countOfKey(ref: FunctionRef, lane: string, upTo: number): Promise<number> {
    const query = { queued: rangeBelow(`${prefixOf(ref)}/${hashOf(lane)}`) };
    return counted('count the queue of a key', this.model, query, upTo);
  }
}
