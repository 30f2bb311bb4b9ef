import { condition, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { runUntil } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import type { RunLife } from './run-life.ts';

/** An operation of a sandbox is given up by that, and says why; gigabytes are written or read. */
const { sleepAttempt, wakeAttempt } = proxyActivities<ControlActivities>(PROFILE.follow(120 * MINUTE_MS));

/** Who stores what a run waits for has it told; should nobody, it is looked for so often. Milliseconds. */
const LOOK_MS = { first: 60_000, most: 3_600_000, factor: 1.5 };
/** From one try to wake a machine to the next. Milliseconds. */
const WAKE_MS = { first: 1_000, most: 60_000, factor: 2 };
/** After one that could not be hibernated. Milliseconds. */
const AGAIN_MS = { first: 60_000, most: 3_600_000, factor: 2 };
/** The least that is waited for a time that is about to come. Milliseconds. */
const LEAST_MS = 100;

/** A machine that is hibernated while the process of its attempt waits. */
export class Sleep {
  /** From the beginning of its hibernation until it runs again: its process is told nothing then. */
  isAsleep = false;
  /** It has slept: its guest does not know how much of its time is over. */
  hasSlept = false;
  #tries = 0;
  #againMs: number | null = AGAIN_MS.first;

  constructor(
    private readonly life: RunLife,
    private readonly begun: BegunAttempt,
    /** Its process has ended. */
    private readonly isOver: () => boolean,
  ) {}

  /** After which time it may be tried once more, where it could not be hibernated; null: it never can. Milliseconds. */
  get againMs(): number | null {
    return this.#againMs;
  }

  /**
   * Hibernates it, until something came for its process:
   *
   *   hibernated → its slots are others' → something came → it has slots again → it runs, where it was
   *
   * What can't be hibernated stays as it is.
   * @param given what its guest has got
   * @returns how its attempt ends, when it ends meanwhile: it is not woken for that; null: it runs, or its process has ended
   */
  async through(given: string[]): Promise<AttemptEnd | null> {
    this.isAsleep = true;
    const isTimedOut = await this.#slept(given);
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

  /** @returns whether its time was over */
  async #slept(given: string[]): Promise<boolean> {
    if (!(await controlUntilDone.beginSleep({ ...this.#attempt, given }))) return false;
    const nth = ++this.#tries;
    const slept = await this.#unlessCancelled(() => sleepAttempt({ ...this.#attempt, nth }));
    if (!slept) return false;
    const { value: failure } = slept;
    if (failure) {
      this.#againMs = nextTry(failure, this.#tries);
      await controlUntilDone.endSleep({ ...this.#attempt, failure });
      return false;
    }
    this.hasSlept = true;
    if (!this.isOver()) await controlUntilDone.yieldSlots(this.#attempt);
    return this.#untilAwake(given);
  }

  async #untilAwake(given: string[]): Promise<boolean> {
    for (let [nth, lookMs, wakeMs] = [0, LOOK_MS.first, WAKE_MS.first]; ; ) {
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
      await condition(isNext, next.is === 'asleep' ? Math.min(lookMs, Math.max(LEAST_MS, next.withinMs)) : lookMs);
      lookMs = Math.min(LOOK_MS.most, lookMs * LOOK_MS.factor);
    }
    await controlUntilDone.endSleep({ ...this.#attempt, failure: null });
    return false;
  }

  /** A cancel leaves it: its sandbox is destroyed then. */
  #unlessCancelled<T>(work: () => Promise<T>): Promise<{ value: T } | null> {
    return runUntil(() => this.#isCancelled, work);
  }
}

function nextTry({ code }: RunFailure, tries: number): number | null {
  if (code === 'hibernation_unsupported' || code === 'sandbox_ended') return null;
  return Math.min(AGAIN_MS.most, AGAIN_MS.first * AGAIN_MS.factor ** (tries - 1));
}
