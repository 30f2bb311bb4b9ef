import { fstatSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { type CommandDef, renderUsage } from 'citty';
import { findCommand, runLeaf, unknownCommand } from './catalog/leaf.ts';
import { overview } from './catalog/listed.ts';
import { createCommands, GROUPS, LISTED } from './commands.ts';
import { CliError, EXIT, usageError } from './terminal/cli-error.ts';
import { Io } from './terminal/io.ts';
import { exitCodeOf, reportError } from './terminal/report-error.ts';

/** Commands that exit with the code of their program in a sandbox, so their own codes must be distinguishable. */
const ENDS_AS_ITS_COMMAND = new Set(['run', 'exec']);

/** Runs one command line, and prints its results and errors. */
export async function runCli(argv: string[], io: Io): Promise<number> {
  const options = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  let [path, isOfCommand] = [['mayfly'], false];
  try {
    const root = createCommands(io);
    const leaf = await findCommand(root, withoutAlias(argv));
    const { command, rest } = leaf;
    path = leaf.path;
    isOfCommand = path.length === 2 && ENDS_AS_ITS_COMMAND.has(path[1] ?? '');
    if (options.includes('--help') || options.includes('-h')) {
      io.print(await usage(io, path, command));
      return EXIT.ok;
    }
    if (argv.length === 1 && argv[0] === '--version') {
      io.print(version());
      return EXIT.ok;
    }
    if (command.subCommands) {
      const [given] = rest;
      if (given !== undefined) throw unknownCommand(leaf, given, LISTED);
      io.note(await usage(io, path, command));
      throw usageError('a command is missing');
    }
    return await runLeaf(leaf);
  } catch (error) {
    if (io.isUnread) return EXIT.unread;
    const interrupted = io.signal.aborted && !(error instanceof CliError);
    const shown = interrupted ? interruption(error) : error;
    const code = exitCodeOf(shown);
    const told = isOfCommand && code !== EXIT.interrupted ? EXIT.notItsCommand : code;
    reportError(io, shown, { json: options.includes('--json'), exitCode: told, command: path.join(' ') });
    return told;
  }
}

/** Subcommands of a function's run, which `mayfly run` accepts; with a program after `--` the word names a sandbox. */
const OF_RUN = new Set(['open', 'diff']);

function withoutAlias(argv: string[]): string[] {
  const [first, word = '', next = '--help'] = argv;
  const isAlias = first === 'run' && OF_RUN.has(word) && !argv.includes('--');
  return isAlias && (!next.startsWith('-') || next === '--help') ? ['function', ...argv.slice(1)] : argv;
}

async function usage(io: Io, path: string[], command: CommandDef): Promise<string> {
  if (path.length === 1) return overview(io, GROUPS);
  const text = await renderUsage(command, { meta: { name: path.slice(0, -1).join(' ') } });
  return io.colors ? text : stripVTControlCharacters(text);
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}

function interruption(cause: unknown): CliError {
  return new CliError(EXIT.interrupted, 'Interrupted', 'Ctrl-C or SIGTERM', 'Run it again when you like.', { cause });
}

/** Reports whether standard input is a pipe, a socket or a file; a terminal and /dev/null are devices. */
function isPiped(): boolean {
  const stat = fstatSync(0);
  return stat.isFIFO() || stat.isFile() || stat.isSocket();
}

/** Runs the process `mayfly`: Ctrl-C makes the command stop gracefully, a second one exits at once. */
export async function main(argv: string[]): Promise<void> {
  const [controller, force] = [new AbortController(), new AbortController()];
  const interrupt = () => {
    if (!controller.signal.aborted) return controller.abort(new Error('interrupted'));
    force.abort(new Error('interrupted twice'));
    if (!io.endsItself) process.exit(EXIT.interrupted);
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, interrupt);
  const { stdout, stderr, env } = process;
  const stdin = { isPiped: isPiped(), open: () => process.stdin };
  const io = new Io({ stdout, stderr, stdin, env, signal: controller.signal, force: force.signal });
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (io.isUnread) return;
      io.dropOutput();
      if (io.whenUnread) void io.whenUnread().finally(() => process.exit(EXIT.unread));
      else interrupt();
    });
  }
  const code = await runCli(argv, io);
  if (io.isUnread) process.exit(EXIT.unread);
  process.exitCode = code;
}
