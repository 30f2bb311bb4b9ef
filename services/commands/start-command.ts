import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestedCommands } from '../../model/approvals/command-pattern.ts';
import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { LIMITS } from '../../model/limits.ts';
import {
  type CommandInputs,
  type CommandRecord,
  type CommandSpec,
  newCommandRecord,
} from '../../model/sandbox/command.ts';
import { type Actor, getDiskGeneration, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import { checkPolicy, type PolicyRequest } from '../approvals/check-policy.ts';
import { toGuestError } from '../guests.ts';
import { actorOf, type IdempotentCall } from '../idempotent-call.ts';
import { assertRunning, isResumable, resumeSandbox, startResume } from '../sandboxes/awake-sandbox.ts';
import type { Unset } from '../sandboxes/placement.ts';
import { requireSandbox, type ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';
import { recordCommand } from './record-command.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas' | 'guests' | 'logger'>;

/** Request for a command, without defaults. */
interface CommandRequest extends Unset<Pick<CommandSpec, 'timeoutSeconds' | 'maxOutputBytes' | 'stdinOpen'>> {
  command?: string | undefined;
  argv?: string[] | undefined;
  cwd?: string | undefined;
  user?: string | undefined;
  env?: Record<string, string> | undefined;
  stdin?: string | { base64: string } | undefined;
}

/** Poll interval for the end of a command while the relay of its host does not answer, ms. */
const POLL_MS = 250;

/**
 * Runs a command and waits until it has ended. A retry of the request joins the running command.
 * @param sandbox resumed unless it runs
 * @returns its record at the end of the wait
 * @throws PendingApproval; MayflyError what {@link checkPolicy} throws, sandbox_not_found, sandbox_ended,
 *   sandbox_not_running
 */
export async function startCommand(
  deps: Deps,
  call: IdempotentCall,
  sandbox: SandboxRecord,
  request: CommandRequest,
  wait: WaitLimit,
): Promise<CommandRecord> {
  const { id: sandboxId, project } = sandbox;
  const { subjectId: id } = call;
  await checkPolicy(deps, call, project, policyRequestOf(deps, sandboxId, request, id));
  const startedAt = Date.now();
  const awake = () => awakeHost(deps, sandbox, actorOf(call), wait);
  const { hostId } = await recordAndStart(deps, call, sandboxId, request, awake);
  const seconds = Math.max(0, wait.seconds - Math.floor((Date.now() - startedAt) / 1_000));
  await waitWithin(deps, { ...wait, seconds }, (signal) => awaitEnd(deps, { id, hostId }, seconds, signal));
  const record = await deps.store.commands.get(id);
  if (record) return record;
  throw new MayflyError('internal', `The store has lost the record of ${id}.`);
}

/** Returns the policy's view of a command. Values of variables and standard input are hidden. */
function policyRequestOf(deps: Deps, sandboxId: string, request: CommandRequest, commandId: string): PolicyRequest {
  return {
    action: 'command.run',
    isBegun: async () => (await deps.store.commands.get(commandId)) !== null,
    resolve: async () => {
      const { env, stdin } = inputsOf(request);
      const shown = { sandboxId, ...specOf(request), stdinBytes: stdin.length };
      const content = { env, stdin, generation: getDiskGeneration(await requireSandbox(deps, sandboxId)) };
      return { facts: { runs: getRequestedCommands(request) }, request: shown, content };
    },
  };
}

/**
 * Records the command, then starts its workflow. A claim without a record, or with a `requested` one, means that an
 * earlier request died in between: this request continues with the same id, and Temporal deduplicates.
 */
async function recordAndStart(
  deps: Deps,
  call: IdempotentCall,
  sandboxId: string,
  request: CommandRequest,
  awake: () => Promise<HostRef>,
): Promise<HostRef> {
  const { store, sagas } = deps;
  const { subjectId: commandId, isFresh } = call;
  const createdBy = actorOf(call);
  const present = isFresh ? null : await store.commands.get(commandId);
  if (present && present.state !== 'requested') return present;
  const host = present ?? (await awake());
  const record = newCommandRecord(commandId, { ...host, id: sandboxId }, specOf(request), createdBy);
  const input = await recordCommand(store, record, inputsOf(request)); // an earlier request may have died halfway
  await Promise.all([sagas.commands.begin(input), resumeIfAsleep(deps, sandboxId, createdBy)]);
  return host;
}

/**
 * Resumes a sandbox that went to sleep after it was found awake. The hibernation checks the recorded commands after it
 * has recorded its state, so one of the two sees the other.
 */
async function resumeIfAsleep(deps: Deps, sandboxId: string, actor: Actor): Promise<void> {
  if (!isResumable(await requireSandbox(deps, sandboxId))) return;
  try {
    await startResume(deps, sandboxId, actor);
  } catch (error) {
    if (!(error instanceof MayflyError)) throw error;
    deps.logger.info({ err: error, sandboxId }, 'a sandbox is not resumed for its command, which starts when it is');
  }
}

/** Returns the host of a running sandbox, or of one whose resume outlasts the wait: then the command starts later. */
async function awakeHost(deps: Deps, found: SandboxRecord, actor: Actor, wait: WaitLimit): Promise<HostRef> {
  const record = found.state === 'running' ? found : await resumeSandbox(deps, found.id, actor, wait);
  const asleep = isResumable(record) ? getHost(record) : null;
  return asleep ?? assertRunning(record);
}

/** Returns the spec with defaults, which are recorded. */
function specOf(request: CommandRequest): CommandSpec {
  const { timeoutSeconds, maxOutputBytes } = LIMITS.command;
  return {
    command: request.command ?? null,
    argv: request.argv ?? null,
    envNames: Object.keys(request.env ?? {}),
    cwd: request.cwd ?? null,
    user: request.user ?? null,
    timeoutSeconds: request.timeoutSeconds ?? timeoutSeconds.default,
    maxOutputBytes: request.maxOutputBytes ?? maxOutputBytes.default,
    stdinOpen: request.stdinOpen ?? false,
  };
}

function inputsOf({ env = {}, stdin = '' }: CommandRequest): CommandInputs {
  return { env, stdin: typeof stdin === 'string' ? Buffer.from(stdin) : Buffer.from(stdin.base64, 'base64') };
}

/** Resolves when the command has ended, by its host's relay; polls the store when that relay does not answer. */
async function awaitEnd(
  { store, guests, logger }: Deps,
  { id, hostId }: { id: string; hostId: string },
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    const path = `/commands/${id}/start?waitSeconds=${seconds}`;
    const answer = await guests.request(hostId, path, { method: 'POST', signal });
    if (answer.ok) return;
    throw await toGuestError(answer);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof MayflyError)) throw error;
    logger.info({ err: error, commandId: id }, 'asking the store for the end of a command instead of its host');
  }
  while ((await store.commands.get(id))?.state !== 'ended') await sleep(POLL_MS, undefined, { signal });
}
