import { condition, sleep } from '@temporalio/workflow';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { controlUntilDone } from '../saga/control.ts';
import type { RunLife } from './run-life.ts';
import type { Sleep } from './sleep.ts';

/** Until its host is back, and has started it. Milliseconds. */
const STARTED_MS = { first: 2_000, most: 300_000, factor: 2 };

/** Asks the workflow of a process to end it. @returns false: it has none at this moment */
export type CancelProcess = (actor: Actor) => Promise<boolean>;

/** Repeats a signal until it is taken: what it is for is being begun, or has just ended. */
export async function untilHeard(send: () => Promise<boolean>, isOver: () => boolean): Promise<void> {
  while (!isOver() && !(await send())) await sleep('1s');
}

/**
 * The time of a process, where its guest cannot keep it: its clock stood still with it, or its time does while it waits. All others are
 * ended by their guests.
 */
export class TimeLimit {
  /** It is over, and its process is told so. */
  isOver = false;
  #turn = 0;

  constructor(
    private readonly life: RunLife,
    private readonly begun: BegunAttempt,
    private readonly slept: Pick<Sleep, 'isAsleep' | 'hasSlept'>,
    private readonly cancel: CancelProcess,
    /** Its process has ended. */
    private readonly hasEnded: () => boolean,
  ) {}

  /** It waits now, or does no more. */
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
