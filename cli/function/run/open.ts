import { randomUUID } from 'node:crypto';
import type { Run, Sandbox } from '../../../clients/typescript/http/openapi.ts';
import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { follow, StepPrinter } from '../../sandbox/sandbox-text.ts';
import { logIn } from '../../ssh/ssh.ts';
import { flag } from '../../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../../terminal/cli-error.ts';
import { customCommand } from '../../terminal/command.ts';
import { type Io, printable } from '../../terminal/io.ts';
import { RUN, runId } from '../input/names.ts';

/** TTL of the sandbox, even if this process dies. */
const TTL_SECONDS = 3_600;
/** Time for necessary requests after a Ctrl-C, ms. */
const ASK_AGAIN_MS = 10_000;
/** Timeout of the proof of removal, s. */
const GONE_WITHIN_SECONDS = 60;

/** `mayfly run open`: opens a shell in a new sandbox, restored from a failed run's snapshot. */
export const openCommand = customCommand({
  description: 'A shell in what a failed run left: mayfly run open run-…',
  args: {
    ...RUN,
    keep: flag('Let the sandbox live for its hour, and not only as long as the shell'),
  },
  async run({ io, args, connect, options }) {
    const id = runId(args.id);
    const client = connect();
    const snapshotId = requireSnapshot(await client.runs.get(id, options));
    if (!io.isTerminal || !process.stdin.isTTY) {
      throw usageError(
        'there is no terminal for a shell',
        `mayfly fork ${snapshotId} --ttl 1h, then mayfly run sbx-… -- program arguments`,
      );
    }
    return openShell(io, client, snapshotId, args.keep);
  },
});

async function openShell(io: Io, client: MayflyClient, snapshotId: string, isKept: boolean): Promise<number> {
  const { id } = await begun(io, client, snapshotId);
  let hasShell = false;
  try {
    await awaitRunning(io, client, id);
    hasShell = true;
    io.note(isKept ? `${id} ends in an hour, or with: mayfly sandbox destroy ${id}` : `${id} goes with this shell`);
    return await logIn(io, client, id);
  } finally {
    if (!(isKept && hasShell)) await destroyed(io, client, id);
  }
}

/** @throws CliError with the reason why no snapshot exists, and the setting for one */
function requireSnapshot({ id, function: name, state, outcome, cleanup, kept }: Run): string {
  if (kept?.snapshotId != null && kept.goneAt === null) return kept.snapshotId;
  const fail = (why: string, remedy: string) => new CliError(EXIT.failed, `Nothing is kept of ${id}`, why, remedy);
  const wait = `See \`mayfly function run ${id}\`.`;
  if (state !== 'ended') return raise(fail(`it is ${state}`, `Wait until it has ended. ${wait}`));
  if (kept?.goneAt != null)
    return raise(fail(`what was kept was deleted at ${kept.goneAt}`, `Replay it: \`mayfly function replay ${id}\`.`));
  if (kept?.failure) return raise(fail(printable(`its snapshot could not be taken: ${kept.failure.message}`), wait));
  if (outcome === 'failed' || outcome === 'timed-out' || outcome === 'unknown') {
    if (cleanup === 'pending')
      return raise(fail('its machine is still being saved, or destroyed', `Ask again in a moment. ${wait}`));
    const field = '"keep": {"onFailure": "disk"}';
    return raise(
      fail(`${name} does not keep what failed`, `Set ${field} in its mayfly.json, deploy it, and replay the run.`),
    );
  }
  return raise(fail(`it is ${outcome}: only what failed or timed out is kept`, wait));
}

function raise(error: CliError): never {
  throw error;
}

/**
 * Starts the create. After a Ctrl-C during the request, repeats it by its idempotency key, and destroys the sandbox.
 */
async function begun(io: Io, client: MayflyClient, snapshotId: string): Promise<Sandbox> {
  const options = { waitSeconds: 0, idempotencyKey: randomUUID() };
  const request = { snapshotId, ttlSeconds: TTL_SECONDS, metadata: { purpose: 'what a failed run left' } };
  io.endsItself = true; // cleanup must finish, even after more Ctrl-C
  try {
    return await client.createSandbox(request, { ...options, signal: io.signal });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const signal = AbortSignal.timeout(ASK_AGAIN_MS);
    const made = await client.createSandbox(request, { ...options, signal }).catch((cause: unknown) => {
      const remedy = 'See `mayfly sandbox list`: what there is ends by itself in an hour.';
      throw new CliError(EXIT.interrupted, 'Interrupted', 'the API did not say whether it makes one', remedy, {
        cause,
      });
    });
    await destroyed(io, client, made.id);
    throw interruptedError(made.id);
  } finally {
    io.endsItself = false;
  }
}

/** @throws CliError: it does not run, or Ctrl-C came first */
async function awaitRunning(io: Io, client: MayflyClient, id: string): Promise<void> {
  io.endsItself = true;
  try {
    const first = await client.getSandbox(id, { signal: io.signal });
    const isOver = ({ state }: Sandbox) => state === 'running' || isFinal(state);
    const { state, failure } = await follow(client, first, isOver, new StepPrinter(io), io.signal);
    if (state === 'running') return;
    const why = failure ? `${failure.message} (${failure.code})` : `it is ${state}`;
    throw new CliError(EXIT.failed, `${id} does not run`, printable(why), `See \`mayfly sandbox get ${id}\`.`);
  } catch (error) {
    throw io.signal.aborted ? interruptedError(id) : error;
  } finally {
    io.endNoteForNow();
    io.endsItself = false;
  }
}

async function destroyed(io: Io, client: MayflyClient, id: string): Promise<void> {
  const isPatient = !io.signal.aborted;
  const signal = isPatient ? io.signal : AbortSignal.timeout(ASK_AGAIN_MS);
  io.endsItself = true;
  try {
    const { state } = await client.destroySandbox(id, { waitSeconds: isPatient ? GONE_WITHIN_SECONDS : 0, signal });
    io.note(isFinal(state) ? `${id} is gone` : `${id} is being destroyed`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.note(printable(`${id} may live for an hour still: ${why}; end it with: mayfly sandbox destroy ${id}`));
  } finally {
    io.endsItself = false;
  }
}

function interruptedError(id: string): CliError {
  return new CliError(EXIT.interrupted, 'Interrupted', `${id} is destroyed`, 'Run it again when you like.');
}

/** Maximum bytes shown. */
const TAIL = 4_096;

/** Prints the end of a run's standard error to this process's; nothing for a run without a process. */
export async function printEndOfStderr(io: Io, runs: Runs, { id, attempts }: Run): Promise<void> {
  if (attempts.length === 0) return;
  const found = await runs.output(id, { stream: 'stderr', signal: io.signal }).catch((error: unknown) => {
    if (error instanceof MayflyApiError && error.code === 'command_not_found') return null;
    throw error;
  });
  if (!found) return;
  let tail: Uint8Array = new Uint8Array();
  let isCut = false;
  for await (const piece of found.bytes) {
    const whole = Buffer.concat([tail, piece]);
    isCut ||= whole.length > TAIL;
    tail = whole.subarray(-TAIL);
  }
  if (isCut) io.note(`… all of it: mayfly function logs ${id} --stderr`);
  if (tail.length === 0) return;
  await io.write('stderr', tail);
  if (tail.at(-1) !== 0x0a) io.note('');
}
