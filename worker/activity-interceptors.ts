import type { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import type { HostActivities } from '../activities/host.ts';
import { withHeartbeats, withStepContext } from '../activities/step/step-context.ts';
import { withStepRunner } from '../activities/step/step-runner.ts';
import type { Failpoints } from '../host/failpoints.ts';
import type { Attempt, KeyedMutex } from '../host/os/keyed-mutex.ts';
import type { StepContext } from '../host/step-context.ts';
import { MayflyError } from '../model/errors.ts';
import { activityFailure, retryableFailure, retryForeverFailure, withDetail } from './activity-failure.ts';
import { HostStepRunner } from './machine/host-step-runner.ts';

type Execute = Next<ActivityInboundCallsInterceptor, 'execute'>;

/** Triggers failpoints before and after the activity of their name, and converts errors to failures with codes. */
export class FailpointInterceptor implements ActivityInboundCallsInterceptor {
  constructor(
    private readonly context: Context,
    private readonly failpoints: Failpoints,
    private readonly failureOf: (error: unknown) => unknown = activityFailure,
  ) {}

  async execute(input: ActivityExecuteInput, next: Execute): Promise<unknown> {
    const { activityType } = this.context.info;
    const about = getStringFields(input.args[0]);
    try {
      await this.failpoints.hit(activityType, 'before', about, this.context.cancellationSignal);
      const result = await next(input);
      await this.failpoints.hit(activityType, 'after', about, this.context.cancellationSignal);
      return result;
    } catch (error) {
      throw this.failureOf(error);
    }
  }
}

/**
 * Queues the steps of one sandbox one after another (the newest overtakes), triggers their failpoints, and heartbeats
 * four times per heartbeat timeout: Temporal notices a dead worker, and the step a cancel.
 */
class HostStepInterceptor implements ActivityInboundCallsInterceptor {
  constructor(
    private readonly context: Context,
    private readonly failpoints: Failpoints,
    private readonly mutex: KeyedMutex,
  ) {}

  async execute(input: ActivityExecuteInput, next: Execute): Promise<unknown> {
    const { sandboxId, generation } = getTarget(input.args[0]);
    const about = getStringFields(input.args[0]);
    const { info, cancellationSignal } = this.context;
    const runStep = ({ alive }: StepContext) => {
      const step = async (signal: AbortSignal) => {
        alive('running');
        await this.failpoints.hit(info.activityType, 'before', about, signal);
        const result = await withStepContext({ signal, alive }, () => next(input));
        await this.failpoints.hit(info.activityType, 'after', about, signal);
        return result;
      };
      return this.mutex.run(sandboxId, generation, cancellationSignal, step, getAttempt(info));
    };
    try {
      return await withHeartbeats('waiting for its turn', runStep, this.context);
    } catch (error) {
      throw isRetriedForever(info) ? retryForeverFailure(error) : activityFailure(error);
    }
  }
}

/**
 * Like {@link HostStepInterceptor}, for an activity of several steps: each has its own failpoints, timeout and
 * heartbeat.
 */
export class MultiStepInterceptor implements ActivityInboundCallsInterceptor {
  constructor(
    private readonly context: Context,
    private readonly failpoints: Failpoints,
    private readonly mutex: KeyedMutex,
  ) {}

  async execute(input: ActivityExecuteInput, next: Execute): Promise<unknown> {
    const { sandboxId, generation } = getTarget(input.args[0]);
    const { info, cancellationSignal } = this.context;
    const runner = new HostStepRunner(this.context, this.failpoints, getStringFields(input.args[0]));
    const beat = setInterval(() => runner.heartbeat(), (info.heartbeatTimeoutMs ?? 4_000) / 4);
    const steps = (signal: AbortSignal) => {
      runner.begin(signal);
      return withStepRunner(runner, () => next(input));
    };
    const work = this.mutex.run(sandboxId, generation, cancellationSignal, steps, getAttempt(info));
    try {
      // A step that ignores its timeout keeps the mutex: its compensation waits until it has really ended.
      return await Promise.race([work, runner.overdue]);
    } catch (error) {
      throw withDetail(activityFailure(error), runner.failure);
    } finally {
      clearInterval(beat);
    }
  }
}

/** Refuses a task meant for another machine: here it would find nothing, and report that as a result. */
class ForeignTask implements ActivityInboundCallsInterceptor {
  constructor(
    private readonly taskQueue: string,
    private readonly ownQueue: string,
  ) {}

  async execute(): Promise<never> {
    const why = `This task is of ${this.taskQueue}, and this machine serves ${this.ownQueue}.`;
    throw activityFailure(new MayflyError('another_installation', why));
  }
}

const MULTI_STEP: ReadonlySet<string> = new Set<keyof HostActivities>(['prepare', 'start']);

/** Steps that may wait days for a guest or for disk space, regardless of their retry policy. */
const UNLIMITED: ReadonlySet<string> = new Set<keyof HostActivities>(['thaw']);

/** Recognizes a compensation or cleanup: Temporal retries it forever, which adds no events to the history. */
function isRetriedForever({ activityType, retryPolicy }: Context['info']): boolean {
  if (UNLIMITED.has(activityType)) return true;
  return retryPolicy !== undefined && (retryPolicy.maximumAttempts ?? 0) === 0;
}

/** Long-running host activities outside the steps of a sandbox: many run concurrently. */
const LONG_RUNNING: ReadonlySet<string> = new Set<keyof HostActivities>([
  'lookAtMachine',
  'runCommand',
  'cancelCommand',
  'pushTrust',
  'ownPublicKey',
  'storeOwnCertificate',
  'carryImageFiles',
  'sendImageFiles',
  'followWaitpoints',
]);

/**
 * Chooses the interceptor of a host activity by its name; an unlisted activity is a step.
 * @param ownQueue task queue of the installation that opened this machine; tasks of other queues are refused
 */
export function hostInterceptor(
  context: Context,
  failpoints: Failpoints,
  mutex: KeyedMutex,
  ownQueue: string,
): ActivityInboundCallsInterceptor {
  const { taskQueue } = context.info;
  if (taskQueue !== ownQueue) return new ForeignTask(taskQueue, ownQueue);
  if (LONG_RUNNING.has(context.info.activityType))
    return new FailpointInterceptor(context, failpoints, retryableFailure);
  if (READ_ONLY.has(context.info.activityType)) return new FailpointInterceptor(context, failpoints);
  const Interceptor = MULTI_STEP.has(context.info.activityType) ? MultiStepInterceptor : HostStepInterceptor;
  return new Interceptor(context, failpoints, mutex);
}

/** Read-only activities; their failures keep their own codes. */
const READ_ONLY: ReadonlySet<string> = new Set<keyof HostActivities>([
  'findMachine',
  'lookAtTemplate',
  'markedSandboxes',
  'greet',
  'silentAmong',
]);

function getTarget(arg: unknown): { sandboxId: string; generation: number } {
  if (typeof arg === 'object' && arg !== null && 'sandboxId' in arg && 'generation' in arg) {
    const { sandboxId, generation } = arg;
    if (typeof sandboxId === 'string' && typeof generation === 'number') return { sandboxId, generation };
  }
  throw new TypeError('a host activity takes {sandboxId, generation, …}');
}

function getAttempt({ activityId, attempt, workflowExecution }: Context['info']): Attempt {
  return { activity: `${workflowExecution?.runId}/${activityId}`, nth: attempt };
}

/** Returns the string fields of an activity's argument: possible ids of its subject. */
function getStringFields(arg: unknown): string[] {
  if (typeof arg !== 'object' || arg === null) return [];
  return Object.values(arg).filter((value) => typeof value === 'string');
}
