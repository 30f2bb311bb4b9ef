import type { Connection, Model } from 'mongoose';
import type { ConcurrencyRule } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { rangeBelow } from '../mongo/below.ts';
import { reaching } from '../mongo/failure.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { FunctionRef } from './functions.ts';
import { type QueueFields, type RunDocument, recordOf } from './run-document.ts';
import { keyOf, NO_KEY, placeOf, prefixOf } from './run-place.ts';

/** What is taken of one rule by who is admitted. */
interface Slot {
  field: 'slot0' | 'slot1';
  name: string;
}

/** Why none is admitted of a key now. */
export type Full = Pick<ConcurrencyRule, 'onFull'> & { isOfAll: boolean };

/**
 * The queues of functions. `queued` is `<project>/<function>/<key>/<rank>/<id>`: so the runs of a function stand by keys, and
 * those of a key by when they were accepted, and the next of each is found by one look at one index, however many there are.
 * A slot is `<project>/<function>/<rule>/<key>/<n>`, in the run that has it, and no two have the same.
 */
export class RunQueue {
  readonly #model: Model<RunDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('runs');
    this.#model = connection.model<RunDocument>('Run');
  }

  /** The first of the next key. @param after a key; `''`: from the first */
  async next(ref: FunctionRef, after: string): Promise<{ run: RunRecord; key: string } | null> {
    const start = `${prefixOf(ref)}/${after}`;
    const range = { queued: { $gt: after === '' ? start : `${start}0`, $lt: `${prefixOf(ref)}0` } };
    const [found] = await reaching('look for the next run', () =>
      this.#model.find(range).sort({ queued: 1 }).limit(1).lean<RunDocument[]>(),
    );
    if (!found) return null;
    const [, , key = NO_KEY] = (found.queued ?? '').split('/');
    return { run: recordOf(this.#fields.opened(found)), key };
  }

  /** The functions that have runs in their queues. */
  async functions(): Promise<FunctionRef[]> {
    const all: FunctionRef[] = [];
    for (let after = ''; ; ) {
      const [found] = await reaching('look for queues', () =>
        this.#model
          .find({ queued: { $gt: after } }, { queued: 1 })
          .sort({ queued: 1 })
          .limit(1)
          .lean<Pick<RunDocument, 'queued'>[]>(),
      );
      const [project, name] = (found?.queued ?? '').split('/');
      if (!project || !name) return all;
      all.push({ project, name });
      after = `${project}/${name}0`;
    }
  }

  /** Those that are to be looked at by now: what is due, and what has expired. @param now ISO 8601 */
  async due(now: string, limit: number): Promise<RunRecord[]> {
    const found = await reaching('look for what is due', () =>
      this.#model
        .find({ wakeAt: { $lte: now, $gt: '' } })
        .sort({ wakeAt: 1 })
        .limit(limit)
        .lean<RunDocument[]>(),
    );
    return found.map((each) => recordOf(this.#fields.opened(each)));
  }

  /** Puts a delayed one into its place in the queue. */
  async enqueue(run: RunRecord): Promise<void> {
    const place = placeOf({ ...run, state: 'queued' });
    await reaching('queue a run', () =>
      this.#model.updateOne({ _id: run.id, state: 'delayed' }, { $set: { state: 'queued', ...place } }),
    );
  }

  /**
   * Admits one that is queued, unless a rule says that too many are under way. What is under way is counted in the runs
   * themselves; of two that take the same slot at once the store refuses one.
   * @returns null: it is admitted, or is not queued any more
   */
  async admit(run: RunRecord, rules: readonly ConcurrencyRule[], at: string): Promise<Full | null> {
    for (;;) {
      const slots = await this.#freeSlots(run, rules);
      if ('onFull' in slots) return slots;
      const taken = Object.fromEntries(slots.taken.map(({ field, name }) => [field, name]));
      const set = { state: 'preparing', cleanup: 'pending', admitted: 'not-begun', waitingFor: null, ...taken };
      try {
        await reaching('admit a run', () =>
          this.#model.updateOne(
            { _id: run.id, state: 'queued' },
            { $set: { ...set, admittedAt: at, updatedAt: at }, $unset: { queued: 1, wakeAt: 1 } },
          ),
        );
        return null;
      } catch (error) {
        // Servers say differently that an update would make a second one: so it is looked at.
        if (!(await this.#isAnyHeld(slots.taken))) throw error;
      }
    }
  }

  /** How many of a function are queued, up to so many. */
  async count(ref: FunctionRef, upTo: number): Promise<number> {
    const range = { queued: rangeBelow(prefixOf(ref)) };
    return reaching('count a queue', () => this.#model.countDocuments(range, { limit: upTo }));
  }

  async #freeSlots(run: RunRecord, rules: readonly ConcurrencyRule[]): Promise<{ taken: Slot[] } | Full> {
    const taken: Slot[] = [];
    for (const [n, rule] of rules.entries()) {
      const field = n === 0 ? 'slot0' : 'slot1';
      const prefix = `${prefixOf({ project: run.project, name: run.function })}/${n}/${keyOf(run, n)}`;
      const held = await this.#held(field, prefix);
      if (held.size >= rule.limit) return { onFull: rule.onFull, isOfAll: rule.key === null };
      const free = Array.from({ length: rule.limit }, (_, i) => `${prefix}/${i}`).find((name) => !held.has(name));
      if (free !== undefined) taken.push({ field, name: free });
    }
    return { taken };
  }

  async #held(field: Slot['field'], prefix: string): Promise<Set<string | undefined>> {
    const range = { [field]: rangeBelow(prefix) };
    const found = await reaching('count what is under way', () =>
      this.#model.find(range, { [field]: 1 }).lean<QueueFields[]>(),
    );
    return new Set(found.map((each) => each[field]));
  }

  async #isAnyHeld(slots: readonly Slot[]): Promise<boolean> {
    for (const { field, name } of slots) {
      if ((await this.#held(field, name.slice(0, name.lastIndexOf('/')))).has(name)) return true;
    }
    return false;
  }
}
