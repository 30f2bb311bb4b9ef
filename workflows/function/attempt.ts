import type { AttemptSandbox } from '../../activities/function/attempt/attempt-sandbox.ts';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { StartedAttempt } from '../../model/functions/run-saga.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import type { HostRef } from '../../model/host.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { CANCEL_COMMAND, type CommandInput, commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { runUntil } from '../saga/cancellation.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { retryForever } from '../saga/retry-forever.ts';
import { trySignal } from '../saga/subscription.ts';
import { runTaskCommand } from '../source/task-command.ts';
import { taskSteps } from '../source/task-life.ts';
import { TaskSandbox } from '../source/task-sandbox.ts';
import type { DiffRecorder } from './diff.ts';
import { attemptRef, type RunState } from './run-life.ts';
import { WaitpointFollower } from './waits.ts';

/** Profile of copies of gigabytes out of an emulated guest. */
const STEP = PROFILE.work(30 * MINUTE_MS, { hostDownMs: 2 * MINUTE_MS });

/** First pause before output is collected again, ms. */
const COLLECT_PAUSE_MS = 1_000;

/** Output fetched from an attempt; of artifacts, their number. */
type Fetched = Partial<Pick<RunRecord, 'result'> & { artifactCount: number }>;

/** Outcome of an attempt, and its fetched output. */
export interface AttemptResult {
  end: AttemptEnd;
  fetched: Fetched;
}

/** Attempt and its sandbox. */
interface AttemptMachine {
  begun: StartedAttempt;
  sandbox: TaskSandbox;
}

/** Returns the sandbox of an attempt, new or found by a workflow that resumes a lost run; or why it is refused. */
export async function loadAttemptSandbox(
  life: RunState,
  begun: StartedAttempt,
): Promise<AttemptMachine | { begun: StartedAttempt; refusal: RunFailure }> {
  try {
    const { sandboxId, ...made } = await control.attemptSandbox({ runId: begun.runId });
    const own = { ...begun, sandboxId };
    return { begun: own, sandbox: sandboxOf(life, own, made) };
  } catch (error) {
    const { code, message } = failureOf(error, 'attemptSandbox');
    return { begun, refusal: { code, message } };
  }
}

function sandboxOf(
  life: RunState,
  { sandboxId: id, begunAt, isPresent }: StartedAttempt,
  { spec, size, isMember, host }: Omit<AttemptSandbox, 'sandboxId'>,
): TaskSandbox {
  const { actor, timeouts } = life.input;
  const input: SandboxInput = {
    id,
    spec,
    size,
    createdBy: actor,
    requestedAt: begunAt,
    begin: isPresent ? 'takeOver' : 'create',
    builds: 'run',
    hosts: [],
    ...(timeouts && { timeouts }),
  };
  return new TaskSandbox(input, 'internal', isMember && !isPresent && host ? host : 'may-be-there');
}

/**
 * Performs one attempt of a run, with no compensation here:
 *
 *   sandbox runs → event and files placed → process started, once → process ended → output collected
 *
 * A cancel ends it before its process starts; later it ends the process, and the output is collected all the same.
 */
export async function runAttempt(
  life: RunState,
  machine: AttemptMachine,
  diffing: DiffRecorder,
): Promise<AttemptResult> {
  const { begun } = machine;
  let hasStarted = begun.isStarted;
  try {
    const prepare = () => prepareCommand(life, machine, diffing);
    const command = await runUntil(() => !hasStarted && life.cancelledBy !== null, prepare);
    if (!command) return { end: { ...EMPTY_END, outcome: 'cancelled' }, fetched: {} };
    if (!command.value) return notStarted(null);
    hasStarted = true;
    return await followCommand(life, begun, command.value);
  } catch (error) {
    const { code, step, message } = failureOf(error, life.failedStep);
    const failure = { code, message: `${step}: ${message}` };
    return hasStarted ? { end: { ...EMPTY_END, outcome: 'unknown', failure }, fetched: {} } : notStarted(failure);
  }
}

/** @param failure null: the run was cancelled, or has expired */
export function notStarted(failure: RunFailure | null): AttemptResult {
  return { end: { ...EMPTY_END, outcome: 'not-started', failure }, fetched: {} };
}

const EMPTY_END = { exitCode: null, signal: null, startedAt: null, failure: null };

async function prepareCommand(
  life: RunState,
  { begun, sandbox }: AttemptMachine,
  diffing: DiffRecorder,
): Promise<CommandInput | null> {
  const { runId, isStarted } = begun;
  const host = await life.step('startSandbox', () => sandbox.start({ mayBeAsleep: isStarted }));
  const step = stepsOn(life, begun, host);
  if (!isStarted) {
    await step.placeRunFiles();
    await diffing.before();
  }
  return life.step('beginCommand', () => control.beginRunCommand({ runId }));
}

/** Follows the process to its end. From here on it may have had effects that can't be undone: only the guest knows. */
async function followCommand(life: RunState, begun: StartedAttempt, command: CommandInput): Promise<AttemptResult> {
  const { runId, sandboxId } = begun;
  const cancel = (actor: Actor) => trySignal(commandWorkflowIdOf(command.commandId), CANCEL_COMMAND, actor);
  const waits = new WaitpointFollower(life, begun, cancel);
  const run = life.step('runCommand', () => runTaskCommand(command, `${runId} in ${sandboxId}`));
  const ended = Promise.all([run.finally(() => waits.end()), waits.passOnCancel(), waits.limit.enforce()]);
  ended.catch(() => undefined); // thrown below, unless the attempt ended while suspended
  const suspendedEnd = await waits.follow(command);
  if (suspendedEnd) return { end: suspendedEnd, fetched: {} };
  await ended;
  const end = waits.limit.asLimited(await controlUntilDone.commandEnd(attemptRef(begun)));
  if (end.outcome === 'not-started' || end.outcome === 'unknown') return { end, fetched: {} };
  return collectOutput(life, begun, end, command);
}

/**
 * Collects the output. Missing output is the failure of a process that succeeded; of any other, collects what exists.
 */
async function collectOutput(
  life: RunState,
  begun: StartedAttempt,
  end: AttemptEnd,
  host: CommandInput,
): Promise<AttemptResult> {
  const isPartial = end.outcome !== 'succeeded';
  const step = stepsOn(life, begun, host);
  try {
    const { result, artifactCount, failure } = await retryWhileAlive(life, begun, () => step.collectRun({ isPartial }));
    const fetched = { result, artifactCount };
    if (isPartial || !failure) return { end, fetched };
    return { end: { ...end, outcome: 'failed', failure }, fetched };
  } catch (error) {
    if (isPartial) return { end, fetched: {} };
    const { message } = failureOf(error, 'collectRun');
    return { end: { ...end, outcome: 'failed', failure: { code: 'result_lost', message } }, fetched: {} };
  }
}

/** Retries while the host is away and the sandbox lives: the output is on that host's disk. @throws the last failure */
async function retryWhileAlive<T>(life: RunState, { sandboxId }: StartedAttempt, run: () => Promise<T>): Promise<T> {
  const collect = async () => {
    try {
      return { value: await run() };
    } catch (error) {
      const isAway = failureOf(error, 'collectRun').code === 'host_unavailable';
      const state = isAway ? await controlUntilDone.stateOf({ sandboxId }) : null;
      if (state === null || isFinal(state)) return { error };
      throw error;
    }
  };
  const recordWaiting = (waitingFor: string | null) => life.recordChange({ waitingFor });
  const outcome = await retryForever('collectRun', collect, { pauseMs: COLLECT_PAUSE_MS, recordWaiting });
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

function stepsOn(life: RunState, { runId, sandboxId: attemptId }: StartedAttempt, host: HostRef) {
  return taskSteps(life, host, { sandboxId: runId, runId, attemptId }, { ...STEP, summary: runId });
}
