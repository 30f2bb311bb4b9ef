import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { runsOf } from '../../model/approvals/command-pattern.ts';
import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { commandIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import {
  type CommandInputs,
  type CommandRecord,
  type CommandSpec,
  requestedCommand,
} from '../../model/sandbox/command.ts';
import { type Actor, generationOf } from '../../model/sandbox/sandbox.ts';
import { hostOf } from '../../model/sandbox/sandbox-state.ts';
import { checkPolicy, type PolicyRequest } from '../../services/approvals/check-policy.ts';
import { refusalOf } from '../../services/guests.ts';
import { type IdempotentCall, releaseCall } from '../../services/idempotent-call.ts';
import { requireSandbox } from '../../services/require.ts';
import { resumeSandbox } from '../../services/sandboxes/awake-sandbox.ts';
import { isResumable, startResume } from '../../services/sandboxes/resume.ts';
import { usable } from '../../services/sandboxes/running-sandbox.ts';
import { waitWithin } from '../../services/waiting.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { fail, type Outcome, type Responder, reply } from '../http/route.ts';
import { waitLimit } from '../http/waiting.ts';
import { answerOnce, isClientConnected, keep } from '../idempotency/answer-once.ts';
import { sandboxOfPath } from '../resources/entered-sandbox.ts';
import type { startCommand } from './command-schemas.ts';
import { type CommandView, commandViewWithOutput } from './command-view.ts';

type Request = z.output<typeof startCommand>;

/** How often the store is asked for the end of a command while its host's relay does not answer. Milliseconds. */
const POLL_MS = 250;

/** POST …/commands: runs the command once, however often it is asked with the same key, and waits for its end a while. */
export async function answerStart(
  responder: Responder<CommandView>,
  sandboxId: string,
  request: Request,
): Promise<Response> {
  const { c, deps } = responder;
  const { store } = deps;
  const again = async (id: string) => {
    const record = await store.commands.get(id);
    return record && outcomeOf(deps, record);
  };
  const asked = {
    idFrom: commandIdFrom,
    again,
    subject: { path: `/v1/sandboxes/${sandboxId}/commands`, member: 'commandId' as const },
  };
  return answerOnce(responder, asked, async (attempt) => {
    const { subjectId: commandId, isFresh } = attempt;
    const { project } = await sandboxOfPath(c, sandboxId);
    await checkPolicy(deps, attempt, project, policyRequestOf(deps, sandboxId, request, commandId));
    const preference = preferenceOf(c.req.header('prefer'));
    const began = Date.now();
    const sandbox = { id: sandboxId, awake: () => awakeHost(c, deps, sandboxId, preference.seconds) };
    const { hostId } = await start(deps, attempt, sandbox, request, actorOf(c));
    const left = Math.max(0, preference.seconds - Math.floor((Date.now() - began) / 1_000));
    await waitWithin(deps, waitLimit(c, left), (signal) => ended(deps, { id: commandId, hostId }, left, signal));
    const record = await store.commands.get(commandId);
    if (!record) throw new MayflyError('internal', `The store has lost the record of ${commandId}.`);
    const outcome = await outcomeOf(deps, record, !isFresh && record.state === 'ended');
    // Of a command that never started the key is free again: the same request may be tried later.
    if (record.outcome === 'not-started') await releaseCall(store, attempt);
    // An answer that says how it ended is given again from the record.
    return keep(outcome, record.state !== 'ended' && isClientConnected(c));
  });
}

/** As a policy sees it: all that it runs with, of which values and standard input are not shown. */
function policyRequestOf(deps: RequestDeps, sandboxId: string, request: Request, commandId: string): PolicyRequest {
  return {
    action: 'command.run',
    isBegun: async () => (await deps.store.commands.get(commandId)) !== null,
    resolve: async () => {
      const { env, stdin } = inputsOf(request);
      const shown = { sandboxId, ...specOf(request), stdinBytes: stdin.length };
      const content = { env, stdin, generation: generationOf(await requireSandbox(deps, sandboxId)) };
      return { facts: { runs: runsOf(request) }, request: shown, content };
    },
  };
}

/**
 * Records the command, then hands it over to Temporal. A claim without a record, or with one that is still `requested`,
 * means that an earlier request died in between: this one goes on with the same id, and Temporal joins the two.
 * @param sandbox `awake` makes it one that can be used, and says its host
 * @returns the host of the command
 * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running: then the key is free again
 */
async function start(
  deps: RequestDeps,
  attempt: IdempotentCall,
  { id: sandboxId, awake }: { id: string; awake: () => Promise<HostRef> },
  request: Request,
  createdBy: Actor,
): Promise<HostRef> {
  const { store, sagas } = deps;
  const { subjectId: commandId, isFresh } = attempt;
  const present = isFresh ? null : await store.commands.get(commandId);
  if (present && present.state !== 'requested') return present;
  const host = present ?? (await awake());
  const record = requestedCommand(commandId, { ...host, id: sandboxId }, specOf(request), createdBy);
  // What an earlier request has written of it stays; it may have died before it came to the rest.
  await Promise.all([
    store.commands.create(record),
    store.commandInputs.keep(commandId, inputsOf(request)),
    store.activity.openCommand(sandboxId, commandId),
  ]);
  const { hostId, installationId } = host;
  const input = { commandId, sandboxId, hostId, installationId };
  await Promise.all([sagas.commands.begin(input), resumeAgain(deps, sandboxId, createdBy)]);
  return host;
}

/**
 * For a sandbox that went to sleep after it was found awake. What puts it to sleep looks, after it has said so, for what is
 * recorded by now; so one of the two sees the other.
 */
async function resumeAgain(deps: RequestDeps, sandboxId: string, actor: Actor): Promise<void> {
  if (!isResumable(await requireSandbox(deps, sandboxId))) return;
  try {
    await startResume(deps, sandboxId, actor);
  } catch (error) {
    if (!(error instanceof MayflyError)) throw error;
    deps.logger.info({ err: error, sandboxId }, 'a sandbox is not resumed for its command, which starts when it is');
  }
}

/** The host of a sandbox that runs; or is about to, when the wait is over first: then the command starts later. */
async function awakeHost(c: Context<Env>, deps: RequestDeps, sandboxId: string, seconds: number): Promise<HostRef> {
  const found = c.get('found');
  const record =
    found?.state === 'running' ? found : await resumeSandbox(deps, sandboxId, actorOf(c), waitLimit(c, seconds));
  const asleep = isResumable(record) ? hostOf(record) : null;
  return asleep ?? usable(record);
}

/** The defaults are filled in here, once, and recorded. */
function specOf(request: Request): CommandSpec {
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

function inputsOf({ env = {}, stdin = '' }: Request): CommandInputs {
  return { env, stdin: typeof stdin === 'string' ? Buffer.from(stdin) : Buffer.from(stdin.base64, 'base64') };
}

/** Resolves when the command has ended. Its host's relay tells at once; without it the store is asked. */
async function ended(
  { store, guests, logger }: RequestDeps,
  { id, hostId }: { id: string; hostId: string },
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    const path = `/commands/${id}/start?waitSeconds=${seconds}`;
    const answer = await guests.request(hostId, path, { method: 'POST', signal });
    if (answer.ok) return;
    throw await refusalOf(answer);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof MayflyError)) throw error;
    logger.info({ err: error, commandId: id }, 'asking the store for the end of a command instead of its host');
  }
  while ((await store.commands.get(id))?.state !== 'ended') await sleep(POLL_MS, undefined, { signal });
}

async function outcomeOf(
  { store }: RequestDeps,
  record: CommandRecord,
  isReplayed = false,
): Promise<Outcome<CommandView>> {
  if (record.state !== 'ended') return reply(202, record);
  const { failure } = record;
  if (!failure) return reply(201, await commandViewWithOutput(store, record), isReplayed);
  const error = new MayflyError(failure.code, failure.message, { retryAfterSeconds: 1 });
  return fail(error, { sandboxId: record.sandboxId, commandId: record.id }, record);
}
