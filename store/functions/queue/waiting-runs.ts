import type { RunRecord } from '../../../model/functions/run.ts';
import { type RunState, UNDER_WAY } from '../../../model/functions/run-state.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { RunWaiting } from '../../../model/waitpoints/waiting.ts';
import { RunRepository } from '../run-document.ts';
import { placeOf } from '../run-place.ts';
import type { QueueRules } from './run-queue.ts';
import { type Full, RunSlots } from './run-slots.ts';

/** Where a run may be whose process waits. */
const WAITS_IN: readonly RunState[] = ['running'];

/** Runs whose processes wait: what is known of that, and the slots that they give back meanwhile. */
export class WaitingRuns extends RunRepository {
  readonly #slots = new RunSlots(this.model);

  /** Writes down how one waits; its slots are as they are. @returns false: its process does not run */
  async record(id: string, waiting: RunWaiting, updatedAt: string): Promise<boolean> {
    const of = { _id: this.checked(id), state: { $in: [...WAITS_IN] } };
    if (await this.set({ ...of, waiting: null }, { waiting, updatedAt })) return true;
    const { slot: _, ...encrypted } = this.encryption.sealed(id, { waiting }).waiting;
    const fields = Object.entries(encrypted).map(([name, value]) => [`waiting.${name}`, value] as const);
    return this.updateOne(of, { $set: { ...Object.fromEntries(fields), updatedAt } });
  }

  /**
   * Has the workflow of one whose machine is hibernated look, as soon as the upkeep comes by: something came for it.
   * @returns false: it is not hibernated
   */
  async wake(id: string): Promise<boolean> {
    const asleep = { _id: this.checked(id), state: { $in: [...WAITS_IN] }, 'waiting.asleepAt': { $gt: '' } };
    return this.updateOne(asleep, { $set: { wakeAt: steadyClock.iso() } });
  }

  /** Its workflow has been told. @param before ISO 8601; what came later is told once more */
  async told(id: string, before: string): Promise<void> {
    await this.updateOne({ _id: this.checked(id), wakeAt: { $lte: before } }, { $unset: { wakeAt: 1 } });
  }

  /** Gives the slots of one back whose machine is hibernated. @returns false: it had given them back, or its process does not run */
  async yieldSlots(id: string, updatedAt: string): Promise<boolean> {
    const held = { _id: this.checked(id), state: { $in: [...WAITS_IN] }, 'waiting.slot': 'held' };
    return this.updateOne(held, { $set: { 'waiting.slot': 'released', updatedAt }, $unset: { slot0: 1, slot1: 1 } });
  }

  /** Puts one that has given its slots back into its place of the queue. @returns false: it has some, waits for some, or is not under way */
  async queue(run: RunRecord, updatedAt: string): Promise<boolean> {
    const { queued } = placeOf({ ...run, state: 'queued' });
    const released = { _id: this.checked(run.id), state: { $in: [...UNDER_WAY] }, 'waiting.slot': 'released' };
    const set = { 'waiting.slot': 'queued', queued, waitingFor: 'concurrency', updatedAt };
    return this.updateOne(released, { $set: set });
  }

  /**
   * Gives one of the queue slots again. It has begun before, so it takes no ticket.
   * @returns null: it has them, or is not in the queue any more
   */
  async readmit(run: RunRecord, rules: Pick<QueueRules, 'concurrency'>, updatedAt: string): Promise<Full | null> {
    const queued = { _id: this.checked(run.id), state: { $in: [...UNDER_WAY] }, 'waiting.slot': 'queued' };
    for (;;) {
      const slots = await this.#slots.free(run, rules.concurrency);
      if ('why' in slots) return slots;
      const set = { ...slots, 'waiting.slot': 'held', waitingFor: null, updatedAt };
      try {
        await this.updateOne(queued, { $set: set, $unset: { queued: 1 } });
        return null;
      } catch (error) {
        if (!(await this.#slots.areHeld(slots))) throw error; // another was as fast: it is looked at again
      }
    }
  }
}
