import type { Context } from '@temporalio/activity';
import { withStepContext } from '../../activities/step/step-context.ts';
import type { RunnerStep, StepRunner } from '../../activities/step/step-runner.ts';
import type { Failpoints } from '../../host/failpoints.ts';
import { MayflyError } from '../../model/errors.ts';
import { STEP_PROGRESS, type StepProgress } from '../../model/sagas/messages.ts';
import {
  type DoneStep,
  isMultiStepHeartbeat,
  type MultiStepFailure,
  type MultiStepHeartbeat,
} from '../../model/sandbox/multi-step.ts';
import type { StepTiming } from '../../model/sandbox/sandbox.ts';
import { timeoutCode, timeoutMessage } from '../../model/sandbox/timeouts.ts';

/** Steps of one attempt of an activity on its host. */
export class HostStepRunner implements StepRunner {
  /** Rejects when a step exceeds its timeout, even if the step continues. */
  readonly overdue: Promise<never>;
  #overdue: (why: MayflyError) => void = () => {};
  #step = '';
  #seen = 'waiting for its turn';
  #done: DoneStep[] = [];
  #signal: AbortSignal;
  readonly #isResumed: boolean;

  constructor(
    private readonly context: Context,
    private readonly failpoints: Failpoints,
    /** Keys by which failpoints may select its steps. */
    private readonly about: readonly string[],
  ) {
    this.overdue = new Promise((_resolve, reject) => {
      this.#overdue = reject;
    });
    this.overdue.catch(() => undefined); // the racing caller handles the rejection
    this.#signal = context.cancellationSignal;
    const { heartbeatDetails, attempt } = context.info;
    this.#isResumed = attempt > 1;
    if (isMultiStepHeartbeat(heartbeatDetails)) this.#done = heartbeatDetails.done;
  }

  /** Starts after the steps queued before it. @param signal also fires when a newer activity overtakes it */
  begin(signal: AbortSignal): void {
    this.#signal = signal;
    this.heartbeat(); // records the start, should this process die
  }

  heartbeat(): void {
    const details: MultiStepHeartbeat = { step: this.#step, seen: this.#seen, done: this.#done };
    this.context.heartbeat(details);
  }

  get steps(): StepTiming[] {
    return this.#done.map(({ step, startedAt, endedAt }) => ({ step, startedAt, endedAt }));
  }

  get failure(): MultiStepFailure {
    return { step: this.#step, isFirst: !this.#isResumed && this.#done.length === 0 };
  }

  async step<T>(step: RunnerStep, run: () => Promise<T>): Promise<T> {
    const { name } = step;
    const before = this.#done.find((done) => done.step === name);
    if (before) return before.result as T; // the step's own result, parsed from JSON
    const startedAt = new Date().toISOString();
    this.#step = name;
    this.#seen = 'running';
    const slow = setTimeout(() => this.#report(step), step.shownAfterMs);
    const late = new AbortController();
    const limit = setTimeout(() => {
      const why = new MayflyError(timeoutCode(name), timeoutMessage(name, this.#seen));
      this.#overdue(why);
      late.abort(why);
    }, step.withinMs);
    try {
      const result = await this.#run(name, AbortSignal.any([this.#signal, late.signal]), run);
      late.signal.throwIfAborted(); // the caller has given up: the next step is not started
      this.#done = [...this.#done, { step: name, startedAt, endedAt: new Date().toISOString(), result }];
      return result;
    } finally {
      clearTimeout(slow);
      clearTimeout(limit);
    }
  }

  async #run<T>(name: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    await this.failpoints.hit(name, 'before', this.about, signal);
    const alive = (detail: string) => {
      this.#seen = detail;
    };
    const result = await withStepContext({ signal, alive }, run);
    await this.failpoints.hit(name, 'after', this.about, signal);
    return result;
  }

  /** Reports by heartbeat to Temporal, and by signal to the workflow, which updates the record. */
  #report({ phase, ssh }: RunnerStep): void {
    this.heartbeat();
    const { workflowExecution } = this.context.info;
    if (!workflowExecution) return;
    const { workflowId, runId } = workflowExecution;
    const underWay: StepProgress = { phase, steps: this.steps, ...(ssh && { ssh }) };
    this.context.client.workflow
      .getHandle(workflowId, runId)
      .signal<[StepProgress]>(STEP_PROGRESS, underWay)
      .catch((error: unknown) => this.context.log.warn('a slow step is not shown', { phase, why: String(error) }));
  }
}
