import { condition, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { StartedAttempt } from '../../model/functions/run-saga.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { runUntil } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import type { RunState } from './run-life.ts';

/** Profile of operations that write or read gigabytes; the sandbox's own operation ends them with a reason. */
const { sleepAttempt, wakeAttempt } = proxyActivities<ControlActivities>(PROFILE.follow(120 * MINUTE_MS));

/** Interval between two polls of a suspended attempt without a signal. Milliseconds. */
const POLL_MS = { first: 60_000, most: 3_600_000, factor: 1.5 };
/** Pause between two attempts to wake a machine. Milliseconds. */
const WAKE_MS = { first: 1_000, most: 60_000, factor: 2 };
/** Pause after a failed hibernation. Milliseconds. */
const RETRY_MS = { first: 60_000, most: 3_600_000, factor: 2 };
/** Shortest wait for a due time. Milliseconds. */
const MIN_WAIT_MS = 100;

/** Hibernation of a machine while the process of its attempt waits. */
export class Suspension {
  /** True from the start of the hibernation until the machine runs again: its process is not signaled. */
  isAsleep = false;
  /** True after a hibernation: the guest's clock stood still. */
  hasSlept = false;
  #tries = 0;
  #againMs: number | null = RETRY_MS.first;

  constructor(
    private readonly life: RunState,
    private readonly begun: StartedAttempt,
    private readonly isOver: () => boolean,
  ) {}

  /** Pause after which a failed hibernation may be retried, ms; null: never. */
  get againMs(): number | null {
    return this.#againMs;
  }

  /**
   * Hibernates the machine until data arrives for its process:
   *
   *   hibernated → slots released → data arrived → slots reacquired → resumed
   *
   * A machine that can't be hibernated keeps running.
   * @param delivered waitpoints whose data its guest has
   * @returns the end of an attempt that ends while suspended, without a wake; null: it runs, or its process has ended
   */
  async through(delivered: string[]): Promise<AttemptEnd | null> {
    this.isAsleep = true;
    const isTimedOut = await this.#suspend(delivered);
    this.isAsleep = false;
    if (this.isOver()) return null;
    const outcome = this.life.cancelledBy === null ? 'timed-out' : 'cancelled';
    if (!isTimedOut && outcome === 'timed-out') return null;
    return controlUntilDone.endOfSleeper({ ...this.#attempt, outcome });
  }

  get #attempt() {
    return { runId: this.begun.runId, attemptId: this.begun.sandboxId };
  }

  get #isCancelled(): boolean {
    return this.life.cancelledBy !== null && !this.isOver();
  }

  /** @returns true when the attempt timed out */
  async #suspend(given: string[]): Promise<boolean> {
    if (!(await controlUntilDone.beginSleep({ ...this.#attempt, given }))) return false;
    const nth = ++this.#tries;
    const slept = await this.#unlessCancelled(() => sleepAttempt({ ...this.#attempt, nth }));
    if (!slept) return false;
    const { value: failure } = slept;
    if (failure) {
      this.#againMs = nextRetryMs(failure, this.#tries);
      await controlUntilDone.endSleep({ ...this.#attempt, failure });
      return false;
    }
    this.hasSlept = true;
    if (!this.isOver()) await controlUntilDone.yieldSlots(this.#attempt);
    return this.#awaitResume(given);
  }

  async #awaitResume(given: string[]): Promise<boolean> {
    for (let [nth, lookMs, wakeMs] = [0, POLL_MS.first, WAKE_MS.first]; ; ) {
      const { looks } = this.life;
      const isNext = () => this.isOver() || this.#isCancelled || this.life.looks !== looks;
      const next = this.isOver()
        ? { is: 'wake' as const }
        : await controlUntilDone.lookAtSleeper({ ...this.#attempt, given });
      if (this.#isCancelled) return false;
      if (next.is === 'timed-out') return true;
      if (next.is === 'wake') {
        nth += 1;
        const woken = await this.#unlessCancelled(() => wakeAttempt({ ...this.#attempt, nth }));
        if (!woken) return false;
        if (woken.value === null) break;
        await condition(isNext, wakeMs);
        wakeMs = Math.min(WAKE_MS.most, wakeMs * WAKE_MS.factor);
        continue;
      }
      await condition(isNext, next.is === 'asleep' ? Math.min(lookMs, Math.max(MIN_WAIT_MS, next.withinMs)) : lookMs);
      lookMs = Math.min(POLL_MS.most, lookMs * POLL_MS.factor);
    }
    await controlUntilDone.endSleep({ ...this.#attempt, failure: null });
    return false;
  }

  /** Abandons the work on a cancel: the sandbox is destroyed then. */
  #unlessCancelled<T>(work: () => Promise<T>): Promise<{ value: T } | null> {
    return runUntil(() => this.#isCancelled, work);
  }
}

function nextRetryMs({ code }: RunFailure, tries: number): number | null {
  if (code === 'hibernation_unsupported' || code === 'sandbox_ended') return null;
  return Math.min(RETRY_MS.most, RETRY_MS.first * RETRY_MS.factor ** (tries - 1));
}
