import { randomUUID } from 'node:crypto';
import type { ArgsDef, ParsedArgs } from 'citty';
import type { Command, StartCommand } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import {
  duration,
  flag,
  idOrName,
  JSON_OPTION,
  option,
  positional,
  programBehind,
  seconds,
} from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';
import { exitCodeOfCommand } from './command-text.ts';
import { StdinPump } from './stdin-pump.ts';

const { timeoutSeconds: TIMEOUT } = LIMITS.command;
const DEFAULT_TIMEOUT = duration(TIMEOUT.default * 1_000);

const ARGS = {
  id: positional('Id or name of a sandbox'),
  command: option('Text for the shell of the user, instead of `-- program arguments`'),
  env: option('May be given more than once', 'NAME=value'),
  cwd: option("Absolute path, else the user's home"),
  user: option('User of the guest, else its login user'),
  timeout: option(`Then it is ended (default: ${DEFAULT_TIMEOUT}; with --detach: none)`, '10m'),
  stdin: {
    type: 'boolean',
    description: 'Send what comes on standard input (default: unless it is a terminal, or --detach is given)',
    negativeDescription: 'Send none; as </dev/null',
  },
  detach: flag('Do not wait: print its id'),
  ...JSON_OPTION,
} as const satisfies ArgsDef;

function requestFrom(args: ParsedArgs<typeof ARGS>, argv: string[], env: string[], stdinOpen: boolean): StartCommand {
  if ((args.command === undefined) === (argv.length === 0)) {
    throw usageError('give either `-- program arguments…` or --command', 'mayfly run sbx-… -- ls -la /etc');
  }
  return {
    ...(args.command === undefined ? { argv } : { command: args.command }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map(variableOf)) }),
    ...(args.cwd !== undefined && { cwd: args.cwd }),
    ...(args.user !== undefined && { user: args.user }),
    // The maximum equals the longest life of a sandbox.
    ...(args.detach && { timeoutSeconds: TIMEOUT.max }),
    ...(args.timeout !== undefined && { timeoutSeconds: seconds('timeout', args.timeout, TIMEOUT) }),
    ...(stdinOpen && { stdinOpen: true }),
  };
}

function variableOf(text: string): [string, string] {
  const [name, ...rest] = text.split('=');
  if (!name || rest.length === 0) throw usageError(`--env must be NAME=value, not ${JSON.stringify(text)}`);
  return [name, rest.join('=')];
}

/** Time to fetch the id of the command to cancel after a Ctrl-C, ms. */
const RETRY_MS = 5_000;

/**
 * Starts the command. After a Ctrl-C during the request, repeats it by its idempotency key to get the id, so that the
 * command can be cancelled.
 */
async function start(io: Io, client: MayflyClient, sandbox: string, request: StartCommand): Promise<Command> {
  const options = { waitSeconds: 0, idempotencyKey: randomUUID() };
  try {
    return await client.commands.run(sandbox, request, { ...options, signal: io.signal });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const signal = AbortSignal.timeout(RETRY_MS);
    return await client.commands.run(sandbox, request, { ...options, signal }).catch((cause: unknown) => {
      throw new CliError(EXIT.interrupted, 'Interrupted', 'the API did not say whether it started', LOOK, { cause });
    });
  }
}

/** Prints the output live, and forwards standard input; a Ctrl-C cancels the command and waits for its end. */
async function followCommand(
  io: Io,
  client: MayflyClient,
  { id, sandboxId: sandbox }: Command,
  { json, stdinOpen }: { json: boolean; stdinOpen: boolean },
) {
  const cancel = async () => {
    io.note(`cancelling ${id} …`);
    const options = io.isUnread ? ({ endSignal: 'SIGPIPE' } as const) : {};
    await client.commands.cancel(sandbox, id, options).catch((error: unknown) => {
      io.note(`  not cancelled: ${messageOf(error)}; its time-out still ends it`);
    });
  };
  const onInterrupt = () => void cancel();
  io.signal.addEventListener('abort', onInterrupt, { once: true });
  if (io.signal.aborted) onInterrupt();
  io.whenUnread = cancel;
  const pump = stdinOpen ? new StdinPump(client.commands, sandbox, id, io.stdin.open()) : null;
  pump?.start((error) => io.note(`standard input ends early: ${messageOf(error)}`));
  try {
    for await (const piece of client.commands.follow(sandbox, id)) {
      if ('ended' in piece) return piece.ended;
      if (!json) await io.write(piece.stream, piece.bytes);
    }
  } finally {
    io.signal.removeEventListener('abort', onInterrupt);
    io.whenUnread = null;
    pump?.stop();
  }
  throw new CliError(
    EXIT.failed,
    `The output of ${id} ended before the command did`,
    'the API closed the stream',
    LOOK,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Formats the outcome; the guest or the API wrote the reason. */
function formatOutcome({ outcome, reason, failure }: Command): string {
  const why = reason ?? failure?.message;
  return printable(`${outcome}${why ? `: ${why}` : ''}`);
}

const LOOK = 'See `mayfly command list` for what became of it.';

/** `mayfly run`: runs a command as if it were local, with its output, exit code and Ctrl-C. */
export const runCommand = customCommand({
  args: ARGS,
  repeatable: ['env'],
  check: programBehind('mayfly run'),
  async run({ io, args, program, repeated, connect }) {
    const stdinOpen = args.stdin ?? (io.stdin.isPiped && !args.detach);
    const request = requestFrom(args, program, repeated('env'), stdinOpen);
    const client = connect();
    const accepted = await start(io, client, idOrName(args.id), request);
    if (args.detach) {
      if (args.json) io.printJson(accepted);
      else io.print(accepted.id);
      if (args.timeout === undefined) io.note('It has no time-out: it runs until it ends, or its sandbox does.');
      return EXIT.ok;
    }
    const ended = await followCommand(io, client, accepted, { json: args.json, stdinOpen });
    if (args.json) io.printJson(ended);
    else if (ended.outcome !== 'exited') io.note(`mayfly: ${formatOutcome(ended)}`);
    if (ended.outcome === 'timed-out' && args.timeout === undefined)
      io.note(`  Its time-out was ${DEFAULT_TIMEOUT}, the default: --timeout 1h gives it more, --detach has none.`);
    return exitCodeOfCommand(ended);
  },
});
