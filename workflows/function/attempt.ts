import type { AttemptSandbox } from '../../activities/function/attempt/attempt-sandbox.ts';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
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
import type { Diffing } from './diff.ts';
import { type RunLife, saidOf } from './run-life.ts';
import { Waits } from './waits.ts';

/** Gigabytes, out of an emulated guest. */
const STEP = PROFILE.work(30 * MINUTE_MS, { hostDownMs: 2 * MINUTE_MS });

/** First pause before output is collected again, ms. */
const COLLECT_PAUSE_MS = 1_000;

/** What was fetched of an attempt; of its artifacts, how many. */
type Fetched = Partial<Pick<RunRecord, 'result'> & { artifactCount: number }>;

/** How an attempt ended, and what was fetched of it. */
export interface Ended {
  end: AttemptEnd;
  fetched: Fetched;
}

/** The sandbox of an attempt, as whoever goes on with it has it. */
interface OwnMachine {
  begun: BegunAttempt;
  sandbox: TaskSandbox;
}

/** The sandbox of an attempt as it is made, or as whoever goes on with a lost run finds it; or why there is to be none. */
export async function attemptSandbox(
  life: RunLife,
  begun: BegunAttempt,
): Promise<OwnMachine | { begun: BegunAttempt; refusal: RunFailure }> {
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
  life: RunLife,
  { sandboxId: id, begunAt, isPresent }: BegunAttempt,
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
 * One attempt of a run, of which nothing is undone here:
 *
 *   its sandbox runs → event and files are in it → its process is started, once → it has ended → what it left is fetched
 *
 * A cancel undoes it until its process is started, and then has that ended; what has ended is fetched all the same.
 */
export async function attempt(life: RunLife, machine: OwnMachine, diffing: Diffing): Promise<Ended> {
  const { begun } = machine;
  let hasStarted = begun.isStarted;
  try {
    const prepare = () => prepared(life, machine, diffing);
    const command = await runUntil(() => !hasStarted && life.cancelledBy !== null, prepare);
    if (!command) return { end: { ...NOTHING, outcome: 'cancelled' }, fetched: {} };
    if (!command.value) return neverBegan(null);
    hasStarted = true;
    return await followed(life, begun, command.value);
  } catch (error) {
    const { code, step, message } = failureOf(error, life.failedStep);
    const failure = { code, message: `${step}: ${message}` };
    return hasStarted ? { end: { ...NOTHING, outcome: 'unknown', failure }, fetched: {} } : neverBegan(failure);
  }
}

/** @param failure null: it is not wanted any more */
export function neverBegan(failure: RunFailure | null): Ended {
  return { end: { ...NOTHING, outcome: 'not-started', failure }, fetched: {} };
}

const NOTHING = { exitCode: null, signal: null, startedAt: null, failure: null };

async function prepared(life: RunLife, { begun, sandbox }: OwnMachine, diffing: Diffing): Promise<CommandInput | null> {
  const { runId, isStarted } = begun;
  const host = await life.step('startSandbox', () => sandbox.start({ mayBeAsleep: isStarted }));
  const step = stepsOn(life, begun, host);
  if (!isStarted) {
    await step.placeRunFiles();
    await diffing.before();
  }
  return life.step('beginCommand', () => control.beginRunCommand({ runId }));
}

/** From here on something may have been done that can't be undone: only the guest tells what. */
async function followed(life: RunLife, begun: BegunAttempt, command: CommandInput): Promise<Ended> {
  const { runId, sandboxId } = begun;
  const cancel = (actor: Actor) => trySignal(commandWorkflowIdOf(command.commandId), CANCEL_COMMAND, actor);
  const waits = new Waits(life, begun, cancel);
  const run = life.step('runCommand', () => runTaskCommand(command, `${runId} in ${sandboxId}`));
  const ended = Promise.all([run.finally(() => waits.end()), waits.passOnCancel(), waits.limit.enforce()]);
  ended.catch(() => undefined); // thrown below, unless nobody waits for its end
  const endedAsleep = await waits.follow(command);
  if (endedAsleep) return { end: endedAsleep, fetched: {} };
  await ended;
  const end = waits.limit.asLimited(await controlUntilDone.commandEnd(saidOf(begun)));
  if (end.outcome === 'not-started' || end.outcome === 'unknown') return { end, fetched: {} };
  return collected(life, begun, end, command);
}

/** What a process that succeeded has not left as it should is its failure; of another it is kept as far as there is something. */
async function collected(life: RunLife, begun: BegunAttempt, end: AttemptEnd, host: CommandInput): Promise<Ended> {
  const isPartial = end.outcome !== 'succeeded';
  const step = stepsOn(life, begun, host);
  try {
    const { result, artifactCount, failure } = await whileItLives(life, begun, () => step.collectRun({ isPartial }));
    const fetched = { result, artifactCount };
    if (isPartial || !failure) return { end, fetched };
    return { end: { ...end, outcome: 'failed', failure }, fetched };
  } catch (error) {
    if (isPartial) return { end, fetched: {} };
    const { message } = failureOf(error, 'collectRun');
    return { end: { ...end, outcome: 'failed', failure: { code: 'result_lost', message } }, fetched: {} };
  }
}

/** Retries while its host is away and its sandbox lives: the output is on that host's disk. @throws the last failure */
async function whileItLives<T>(life: RunLife, { sandboxId }: BegunAttempt, run: () => Promise<T>): Promise<T> {
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

function stepsOn(life: RunLife, { runId, sandboxId: attemptId }: BegunAttempt, host: HostRef) {
  return taskSteps(life, host, { sandboxId: runId, runId, attemptId }, { ...STEP, summary: runId });
}
