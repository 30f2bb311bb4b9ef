import { condition, sleep } from '@temporalio/workflow';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { controlUntilDone } from '../saga/control.ts';
import type { RunLife } from './run-life.ts';
import type { Sleep } from './sleep.ts';

/** Pauses between two polls until the host is back and has started the process. Milliseconds. */
const STARTED_MS = { first: 2_000, most: 300_000, factor: 2 };

/** Cancels a process by its workflow. @returns false: no such workflow runs now */
export type CancelProcess = (actor: Actor) => Promise<boolean>;

/** Repeats a signal until it is accepted: the target is starting, or has just ended. */
export async function untilHeard(send: () => Promise<boolean>, isOver: () => boolean): Promise<void> {
  while (!isOver() && !(await send())) await sleep('1s');
}

/**
 * Time limit of a process that its guest cannot enforce: the guest's clock stood still in a hibernation, or the limit
 * is suspended while it waits. Guests enforce all others.
 */
export class TimeLimit {
  /** True when the time is up and the process is being cancelled. */
  isOver = false;
  #turn = 0;

  constructor(
    private readonly life: RunLife,
    private readonly begun: BegunAttempt,
    private readonly slept: Pick<Sleep, 'isAsleep' | 'hasSlept'>,
    private readonly cancel: CancelProcess,
    private readonly hasEnded: () => boolean,
  ) {}

  /** Rereads the remaining time: the process started or stopped waiting. */
  changed(): void {
    this.#turn += 1;
  }

  async enforce(): Promise<void> {
    const { runId, sandboxId: attemptId, stops = false } = this.begun;
    const { slept, hasEnded } = this;
    for (let startedMs = STARTED_MS.first; ; ) {
      await condition(() => hasEnded() || (!slept.isAsleep && (stops || slept.hasSlept)));
      if (hasEnded()) return;
      const turn = this.#turn;
      const isNext = () => hasEnded() || this.#turn !== turn;
      const left = await controlUntilDone.timeLeft({ runId, attemptId });
      if (isNext() || slept.isAsleep) continue;
      if (left.is === 'left') {
        if (left.ms <= 0) return this.#end();
        await condition(isNext, left.ms);
      } else if (left.is === 'stands') await condition(isNext);
      else {
        await condition(isNext, startedMs);
        startedMs = Math.min(STARTED_MS.most, startedMs * STARTED_MS.factor);
      }
    }
  }

  asLimited(end: AttemptEnd): AttemptEnd {
    if (!this.isOver || end.outcome !== 'cancelled') return end;
    return {
      ...end,
      outcome: 'timed-out',
      failure: { code: 'run_timed_out', message: 'it did not end within its time' },
    };
  }

  async #end(): Promise<void> {
    if (this.life.cancelledBy !== null) return;
    this.isOver = true;
    await untilHeard(() => this.cancel(this.life.input.actor), this.hasEnded);
  }
}
