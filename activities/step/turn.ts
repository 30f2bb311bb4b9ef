import { AsyncLocalStorage } from 'node:async_hooks';
import type { SandboxPhase, SshEndpoint, StepTiming } from '../../model/sandbox/sandbox.ts';

/** One step of a turn. */
export interface TurnStep {
  /** As failpoints, records and failures call it. */
  name: string;
  phase: SandboxPhase;
  /** After this it is told that it is under way. Milliseconds. */
  shownAfterMs: number;
  /** After this it has failed with a time-out of its own. Milliseconds. */
  withinMs: number;
  /** Where the sandbox will be reached, to be told with the step. */
  ssh?: SshEndpoint;
}

/** What an activity of several steps needs of the worker it runs in; model/sandbox/turn.ts says what a turn is. */
export interface Turn {
  /** Those that are over. */
  readonly steps: StepTiming[];
  /**
   * Runs a step, unless an earlier attempt of this turn is known to have ended it.
   * @throws what the step throws; MayflyError with the code of its time-out
   */
  step<T>(step: TurnStep, run: () => Promise<T>): Promise<T>;
}

const current = new AsyncLocalStorage<Turn>();

export function asTurn<T>(turn: Turn, run: () => Promise<T>): Promise<T> {
  return current.run(turn, run);
}

/** @throws Error outside of {@link asTurn} */
export function currentTurn(): Turn {
  const turn = current.getStore();
  if (!turn) throw new Error('This activity has several steps, and its worker gave it no turn.');
  return turn;
}
