import { randomUUID } from 'node:crypto';
import { type ArgsDef, defineCommand } from 'citty';
import type { MayflyClient } from '../client/mayfly-client.ts';
import type { Command, RunCommand } from '../client/sandbox/commands.ts';
import { LIMITS } from '../model/limits.ts';
import { exitCodeOfCommand } from './command/command-text.ts';
import { StdinPump } from './command/stdin-pump.ts';
import { checkArguments, idOrName, JSON_OPTION } from './terminal/arguments.ts';
import { CliError, usageError } from './terminal/cli-error.ts';
import { connect } from './terminal/connection.ts';
import { EXIT } from './terminal/exit-codes.ts';
import type { Io } from './terminal/io.ts';
import { printable } from './terminal/printable.ts';
import { seconds } from './terminal/quantities.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  command: { type: 'string', description: 'Text for the shell of the user, instead of `-- program arguments`' },
  env: { type: 'string', valueHint: 'NAME=value', description: 'May be given more than once' },
  cwd: { type: 'string', description: "Absolute path, else the user's home" },
  user: { type: 'string', description: 'User of the guest, else its login user' },
  timeout: { type: 'string', valueHint: '10m', description: 'Then it is ended (server default: 10m)' },
  stdin: { type: 'boolean', description: 'Send what comes on standard input', default: false },
  detach: { type: 'boolean', description: 'Do not wait: print its id', default: false },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

interface RunArgs {
  command?: string | undefined;
  cwd?: string | undefined;
  user?: string | undefined;
  timeout?: string | undefined;
  stdin: boolean;
}

function requestFrom(args: RunArgs, argv: string[], env: string[]): RunCommand {
  if ((args.command === undefined) === (argv.length === 0)) {
    throw usageError('give either `-- program arguments…` or --command', 'mayfly run sbx-… -- ls -la /etc');
  }
  const { timeoutSeconds } = LIMITS.command;
  return {
    ...(args.command === undefined ? { argv } : { command: args.command }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map(variableOf)) }),
    ...(args.cwd !== undefined && { cwd: args.cwd }),
    ...(args.user !== undefined && { user: args.user }),
    ...(args.timeout !== undefined && {
      timeoutSeconds: seconds('timeout', args.timeout, timeoutSeconds),
    }),
    ...(args.stdin && { stdinOpen: true }),
  };
}

function variableOf(text: string): [string, string] {
  const [name, ...rest] = text.split('=');
  if (!name || rest.length === 0) throw usageError(`--env must be NAME=value, not ${JSON.stringify(text)}`);
  return [name, rest.join('=')];
}

/** @returns what was given more than once. @throws CliError which says where the program belongs, when it is not behind `--` */
function checkOwn(own: string[], hasSplit: boolean): Map<string, string[]> {
  try {
    return checkArguments(own, ARGS, ['env']);
  } catch (error) {
    const [, word] = /^Unexpected argument '(.*)'$/.exec(error instanceof Error ? error.message : '') ?? [];
    if (hasSplit || word === undefined) throw error;
    const at = own.indexOf(word);
    const line = ['mayfly run', ...own.slice(0, at), '--', ...own.slice(at)].join(' ');
    throw usageError('the program goes behind `--`', line);
  }
}

/** After a Ctrl-C, for the answer that says what is to be cancelled. Milliseconds. */
const ASK_AGAIN_MS = 5_000;

/** Has it started. A Ctrl-C meanwhile may come too late for that: then its id is asked for, so that it can be cancelled. */
async function start(io: Io, client: MayflyClient, sandbox: string, request: RunCommand): Promise<Command> {
  const options = { waitSeconds: 0, idempotencyKey: randomUUID() };
  try {
    return await client.commands.run(sandbox, request, { ...options, signal: io.signal });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const signal = AbortSignal.timeout(ASK_AGAIN_MS);
    return await client.commands.run(sandbox, request, { ...options, signal }).catch((cause: unknown) => {
      throw new CliError(EXIT.interrupted, 'Interrupted', 'the API did not say whether it started', LOOK, { cause });
    });
  }
}

/** Prints its output as it comes, and hands over our standard input; a Ctrl-C cancels it and goes on until it has ended. */
async function followCommand(
  io: Io,
  client: MayflyClient,
  { id, sandboxId: sandbox }: Command,
  args: RunArgs & { json: boolean },
) {
  const cancel = async () => {
    io.note(`cancelling ${id} …`);
    await client.commands.cancel(sandbox, id).catch((error: unknown) => {
      io.note(`  not cancelled: ${messageOf(error)}; its time-out still ends it`);
    });
  };
  const interrupted = () => void cancel();
  io.signal.addEventListener('abort', interrupted, { once: true });
  if (io.signal.aborted) interrupted();
  io.whenUnread = cancel;
  const pump = args.stdin ? new StdinPump(client.commands, sandbox, id, process.stdin) : null;
  pump?.start((error) => io.note(`standard input ends early: ${messageOf(error)}`));
  try {
    for await (const piece of client.commands.follow(sandbox, id)) {
      if ('ended' in piece) return piece.ended;
      if (!args.json) await io.write(piece.stream, piece.bytes);
    }
  } finally {
    io.signal.removeEventListener('abort', interrupted);
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

/** The reason is the guest's word, or the API's. */
function howItEnded({ outcome, reason, failure }: Command): string {
  const why = reason ?? failure?.message;
  return printable(`${outcome}${why ? `: ${why}` : ''}`);
}

const LOOK = 'See `mayfly command list` for what became of it.';

/** `mayfly run`: as if the command ran here, with its output, its exit code and Ctrl-C. */
export function runCommand(io: Io) {
  return defineCommand({
    args: ARGS,
    run: ({ args, rawArgs }) => runIt(io, args, rawArgs),
  });
}

async function runIt(io: Io, args: RunArgs & { id: string; detach: boolean; json: boolean }, rawArgs: string[]) {
  const split = rawArgs.indexOf('--');
  const [own, argv] = split === -1 ? [rawArgs, []] : [rawArgs.slice(0, split), rawArgs.slice(split + 1)];
  const env = checkOwn(own, split !== -1).get('env') ?? [];
  const request = requestFrom(args, argv, env);
  const client = connect(io);
  const accepted = await start(io, client, idOrName(args.id), request);
  if (args.detach) {
    if (args.json) io.printJson(accepted);
    else io.print(accepted.id);
    return EXIT.ok;
  }
  const ended = await followCommand(io, client, accepted, args);
  if (args.json) io.printJson(ended);
  else if (ended.outcome !== 'exited') io.note(`mayfly: ${howItEnded(ended)}`);
  return exitCodeOfCommand(ended);
}
