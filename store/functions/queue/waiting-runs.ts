import type { RunRecord } from '../../../model/functions/run.ts';
import { ACTIVE_STATES, type RunState } from '../../../model/functions/run-state.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { RunWaiting } from '../../../model/waitpoints/waiting.ts';
import { RunRepository } from '../run-document.ts';
import { getQueueFields } from '../run-place.ts';
import type { QueueRules } from './run-queue.ts';
import { type Full, RunSlots } from './run-slots.ts';

/** States of a run whose process may wait. */
const WAITS_IN: readonly RunState[] = ['running'];

/** Runs whose processes wait for data, and the slots that they release during hibernation. */
export class SuspendedRuns extends RunRepository {
  readonly #slots = new RunSlots(this.model);

  /** Records how a run waits; its slots stay. @returns false when its process does not run */
  async record(id: string, waiting: RunWaiting, updatedAt: string): Promise<boolean> {
    const of = { _id: this.checked(id), state: { $in: [...WAITS_IN] } };
    if (await this.set({ ...of, waiting: null }, { waiting, updatedAt })) return true;
    const { slot: _, ...encrypted } = this.encryption.sealed(id, { waiting }).waiting;
    const fields = Object.entries(encrypted).map(([name, value]) => [`waiting.${name}`, value] as const);
    return this.updateOne(of, { $set: { ...Object.fromEntries(fields), updatedAt } });
  }

  /**
   * Schedules a wake-up of a hibernated run's workflow by the upkeep: data for it has arrived.
   * @returns false when it is not hibernated
   */
  async wake(id: string): Promise<boolean> {
    const asleep = { _id: this.checked(id), state: { $in: [...WAITS_IN] }, 'waiting.asleepAt': { $gt: '' } };
    return this.updateOne(asleep, { $set: { wakeAt: steadyClock.iso() } });
  }

  /** Clears the mark after the workflow was notified. @param before ISO 8601; a later mark stays */
  async told(id: string, before: string): Promise<void> {
    await this.updateOne({ _id: this.checked(id), wakeAt: { $lte: before } }, { $unset: { wakeAt: 1 } });
  }

  /** Releases the slots of a hibernated run. @returns false when it holds none, or its process does not run */
  async yieldSlots(id: string, updatedAt: string): Promise<boolean> {
    const held = { _id: this.checked(id), state: { $in: [...WAITS_IN] }, 'waiting.slot': 'held' };
    return this.updateOne(held, { $set: { 'waiting.slot': 'released', updatedAt }, $unset: { slot0: 1, slot1: 1 } });
  }

  /** Queues a run that has released its slots. @returns false when it holds some, is queued, or is not under way */
  async queue(run: RunRecord, updatedAt: string): Promise<boolean> {
    const { queued } = getQueueFields({ ...run, state: 'queued' });
    const released = { _id: this.checked(run.id), state: { $in: [...ACTIVE_STATES] }, 'waiting.slot': 'released' };
    const set = { 'waiting.slot': 'queued', queued, waitingFor: 'concurrency', updatedAt };
    return this.updateOne(released, { $set: set });
  }

  /**
   * Assigns slots to a queued run again. It has started before, so it takes no ticket.
   * @returns null when it has them, or is not queued
   */
  async readmit(run: RunRecord, rules: Pick<QueueRules, 'concurrency'>, updatedAt: string): Promise<Full | null> {
    const queued = { _id: this.checked(run.id), state: { $in: [...ACTIVE_STATES] }, 'waiting.slot': 'queued' };
    for (;;) {
      const slots = await this.#slots.free(run, rules.concurrency);
      if ('why' in slots) return slots;
      const set = { ...slots, 'waiting.slot': 'held', waitingFor: null, updatedAt };
      try {
        await this.updateOne(queued, { $set: set, $unset: { queued: 1 } });
        return null;
      } catch (error) {
        if (!(await this.#slots.areHeld(slots))) throw error; // a concurrent run took one: try again
      }
    }
  }
}
