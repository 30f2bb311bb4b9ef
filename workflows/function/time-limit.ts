import { condition, sleep } from '@temporalio/workflow';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { StartedAttempt } from '../../model/functions/run-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { controlUntilDone } from '../saga/control.ts';
import type { RunState } from './run-life.ts';
import type { Suspension } from './sleep.ts';

/** Pauses between two polls until the host is back and has started the process. Milliseconds. */
const START_POLL_MS = { first: 2_000, most: 300_000, factor: 2 };

/** Cancels a process by its workflow. @returns false: no such workflow runs now */
export type CancelProcess = (actor: Actor) => Promise<boolean>;

/** Repeats a signal until it is accepted: the target is starting, or has just ended. */
export async function signalUntilAccepted(send: () => Promise<boolean>, isOver: () => boolean): Promise<void> {
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
    private readonly life: RunState,
    private readonly begun: StartedAttempt,
    private readonly slept: Pick<Suspension, 'isAsleep' | 'hasSlept'>,
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
    for (let startedMs = START_POLL_MS.first; ; ) {
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
        startedMs = Math.min(START_POLL_MS.most, startedMs * START_POLL_MS.factor);
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
    await signalUntilAccepted(() => this.cancel(this.life.input.actor), this.hasEnded);
  }
}
