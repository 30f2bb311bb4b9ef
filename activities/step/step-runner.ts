import { AsyncLocalStorage } from 'node:async_hooks';
import type { SandboxPhase, SshEndpoint, StepTiming } from '../../model/sandbox/sandbox.ts';

export interface RunnerStep {
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

/** What an activity of several steps needs of the worker it runs in. */
export interface StepRunner {
  readonly steps: StepTiming[];
  /**
   * Runs a step, unless an earlier attempt of the activity is known to have ended it.
   * @throws what the step throws; MayflyError with the code of its time-out
   */
  step<T>(step: RunnerStep, run: () => Promise<T>): Promise<T>;
}

const current = new AsyncLocalStorage<StepRunner>();

export function withStepRunner<T>(runner: StepRunner, run: () => Promise<T>): Promise<T> {
  return current.run(runner, run);
}

/** @throws Error outside of {@link withStepRunner} */
export function currentStepRunner(): StepRunner {
  const runner = current.getStore();
  if (!runner) throw new Error('This activity has several steps, and its worker gave it no step runner.');
  return runner;
}
