import { AsyncLocalStorage } from 'node:async_hooks';
import type { SandboxPhase, SshEndpoint, StepTiming } from '../../model/sandbox/sandbox.ts';

export interface RunnerStep {
  /** Name in failpoints, records and failures. */
  name: string;
  phase: SandboxPhase;
  /** Run time after which the step is reported as in progress. Milliseconds. */
  shownAfterMs: number;
  /** Timeout, with an error code of its own. Milliseconds. */
  withinMs: number;
  /** Endpoint of the sandbox, reported with the step. */
  ssh?: SshEndpoint;
}

/** Runner for activities of several steps. */
export interface StepRunner {
  readonly steps: StepTiming[];
  /**
   * Runs a step, unless an earlier attempt of the activity has completed it.
   * @throws the step's error; MayflyError with the code of its timeout
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
