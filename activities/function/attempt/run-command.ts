import { MayflyError } from '../../../model/errors.ts';
import { type AttemptEnd, toAttemptEnd, unknownEnd } from '../../../model/functions/command-end.ts';
import type { FunctionSpec } from '../../../model/functions/function.ts';
import { buildRunEnvironment, FILES_FOLDER } from '../../../model/functions/guest-layout.ts';
import { type Attempt, getLastAttempt, isExpired, type RunRecord } from '../../../model/functions/run.ts';
import type { RunInput } from '../../../model/functions/run-saga.ts';
import { ACTIVE_STATES } from '../../../model/functions/run-state.ts';
import { newCommandRecord } from '../../../model/sandbox/command.ts';
import type { CommandInput } from '../../../model/sandbox/command-saga.ts';
import { getHost } from '../../../model/sandbox/sandbox-state.ts';
import { getGuestTimeoutSeconds } from '../../../model/waitpoints/waiting.ts';
import { recordCommand } from '../../../services/commands/record-command.ts';
import type { Store } from '../../../store/connect.ts';
import { requireSpec } from '../accepted-version.ts';
import { type AttemptRef, findAttempt, requireRun, withLast } from '../known-attempt.ts';
import { loadEvent } from '../stored-event.ts';
import { issueSecrets, placesOf, versionsOf } from './given-secrets.ts';

/** Limit of the standard input sent with a command's request. Bytes. */
const LARGEST_STDIN = 1_048_576;

export function createRunCommandActivities({ store }: { store: Store }) {
  /** Returns the input of its process. @throws MayflyError function_gone, secret_not_found, secrets_too_large */
  async function buildCommand(run: RunRecord, attempt: Attempt) {
    const [spec, event] = await Promise.all([requireSpec(store, run), loadEvent(store, run)]);
    const deadline = new Date(Date.now() + spec.timeoutSeconds * 1_000).toISOString();
    const given = await issueSecrets(store, run, attempt, spec);
    if (given.length > 0) {
      await store.runs.change(run.id, ACTIVE_STATES, { attempts: withLast(run, { secrets: versionsOf(given) }) });
    }
    const { env: secretEnv, files: secretFiles } = placesOf(given);
    const hasSecretFiles = Object.keys(secretFiles).length > 0;
    const context = { runId: run.id, attempt: attempt.n, deadline, replayOf: run.replayOf, hasSecretFiles };
    const env = buildRunEnvironment({ ...spec.env, ...secretEnv }, context);
    const isLarge = event.length > LARGEST_STDIN;
    const command = { ...commandOf(spec, env, isLarge), ...(given.length > 0 && { isMasked: true }) };
    return { command, inputs: { env, stdin: isLarge ? new Uint8Array() : event, secretFiles } };
  }

  return {
    /** Records the command, which its workflow then starts. @returns null: it must not start */
    async beginRunCommand({ runId }: Pick<RunInput, 'runId'>): Promise<CommandInput | null> {
      const run = await requireRun(store, runId);
      const attempt = getLastAttempt(run);
      const [sandbox, present] = attempt
        ? await Promise.all([store.sandboxes.get(attempt.sandboxId), store.commands.get(attempt.commandId)])
        : [null, null];
      const host = sandbox && getHost(sandbox);
      if (!attempt || !host) throw new MayflyError('sandbox_ended', `The sandbox of ${runId} is not there any more.`);
      const { commandId, sandboxId } = attempt;
      const input = { commandId, sandboxId, ...host };
      if (present && present.state !== 'requested') return input;
      if (!present && (run.cancelledBy !== null || isExpired(run))) return null;
      const { command, inputs } = await buildCommand(run, attempt);
      const record = newCommandRecord(commandId, { id: sandboxId, ...host }, command, run.createdBy);
      const at = new Date().toISOString();
      await Promise.all([
        recordCommand(store, record, inputs),
        store.runs.change(runId, ACTIVE_STATES, { state: 'running', startedAt: run.startedAt ?? at, updatedAt: at }),
      ]);
      return input;
    },

    async commandEnd(said: AttemptRef): Promise<AttemptEnd> {
      const { runId } = said;
      const [known, command] = await Promise.all([findAttempt(store, said), store.commands.get(said.commandId)]);
      if (!known || !command) return unknownEnd('the store was set back, and knows nothing of its process');
      const end = toAttemptEnd(command);
      if (end.outcome !== 'not-started') {
        const at = new Date().toISOString();
        await store.runs.change(runId, ACTIVE_STATES, { state: 'collecting', waitingFor: null, updatedAt: at });
      }
      return end;
    },
  };
}

/** @param isLarge true: standard input is the event's file */
function commandOf(spec: FunctionSpec, env: Record<string, string>, isLarge: boolean) {
  const { command, argv } = spec;
  return {
    command: isLarge && command !== null ? `exec <"$MAYFLY_EVENT"\n${command}` : command,
    argv: isLarge && argv !== null ? ['/bin/sh', '-c', 'exec "$@" <"$MAYFLY_EVENT"', 'sh', ...argv] : argv,
    envNames: Object.keys(env),
    cwd: FILES_FOLDER,
    user: spec.user,
    timeoutSeconds: getGuestTimeoutSeconds(spec),
    graceSeconds: spec.graceSeconds,
    maxOutputBytes: spec.logBytes,
    stdinOpen: false,
  };
}
