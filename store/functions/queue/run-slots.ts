import type { Model } from 'mongoose';
import type { ConcurrencyRule } from '../../../model/functions/function.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { ACTIVE_STATES } from '../../../model/functions/run-state.ts';
import type { Holder } from '../../../model/functions/superseding.ts';
import { prefixRange } from '../../mongo/below.ts';
import type { QueueFields, RunDocument } from '../run-document.ts';
import { hashKey, prefixOf } from '../run-place.ts';

/** Slots of an admitted run, by rule. */
type Slots = Pick<QueueFields, 'slot0' | 'slot1'>;

/** Rule without a free slot. */
export interface Full extends Pick<ConcurrencyRule, 'onFull'> {
  why: 'concurrency';
  isOfAll: boolean;
}

const FIELDS = ['slot0', 'slot1'] as const;
type Field = (typeof FIELDS)[number];

/**
 * Concurrency slots. A slot is `<project>/<function>/<rule>/<key>/<n>`, stored in the run that holds it, and unique.
 */
export class RunSlots {
  constructor(private readonly model: Model<RunDocument>) {}

  async free(run: RunRecord, rules: readonly ConcurrencyRule[]): Promise<Slots | Full> {
    const taken: Slots = {};
    for (const [n, rule] of rules.entries()) {
      const field = fieldOf(n);
      const prefix = prefixOfRule(run, n);
      const held = await this.#listHeldSlots(field, prefix);
      if (held.size >= rule.limit) return { why: 'concurrency', onFull: rule.onFull, isOfAll: rule.key === null };
      const free = Array.from({ length: rule.limit }, (_, i) => `${prefix}/${i}`).find((name) => !held.has(name));
      if (free !== undefined) taken[field] = free;
    }
    return taken;
  }

  async areHeld(slots: Slots): Promise<boolean> {
    for (const field of FIELDS) {
      const name = slots[field];
      if (name !== undefined && (await this.#listHeldSlots(field, name.slice(0, name.lastIndexOf('/')))).has(name))
        return true;
    }
    return false;
  }

  /** Returns the holders of a rule's slots for this run's key that have neither ended nor been cancelled. */
  async holders(run: RunRecord, rule: number): Promise<Holder[]> {
    const range = { [fieldOf(rule)]: prefixRange(prefixOfRule(run, rule)) };
    const shown = { acceptedAt: 1, seq: 1, state: 1, cancelledBy: 1 } as const;
    const found = await this.model.find(range, shown).lean<RunDocument[]>();
    return found
      .filter(({ state, cancelledBy }) => cancelledBy === null && ACTIVE_STATES.some((each) => each === state))
      .map(({ _id: id, acceptedAt, seq }) => ({ id, acceptedAt, seq }));
  }

  async #listHeldSlots(field: Field, prefix: string): Promise<Set<string | undefined>> {
    const range = { [field]: prefixRange(prefix) };
    const found = await this.model.find(range, { [field]: 1 }).lean<QueueFields[]>();
    return new Set(found.map((each) => each[field]));
  }
}

function fieldOf(rule: number): Field {
  return rule === 0 ? 'slot0' : 'slot1';
}

function prefixOfRule({ project, function: name, keys }: RunRecord, rule: number): string {
  return `${prefixOf({ project, name })}/${rule}/${hashKey(keys[rule] ?? null)}`;
}
