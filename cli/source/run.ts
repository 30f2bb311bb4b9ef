import { constants } from 'node:os';
import type { ArgsDef } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import type { SourceCommandResult, SourceOutput } from '../../model/snapshots/source-access.ts';
import {
  checkArguments,
  JSON_OPTION,
  option,
  type ProgramWords,
  positional,
  positionalIndexes,
  seconds,
} from '../terminal/arguments.ts';
import { type CliError, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { HOST_OPTION, onHost } from './host-option.ts';

const ARGS = {
  name: positional('Source (`mayfly source list`)'),
  command: positional("Quoted as a whole: 'ps aux | head -5'"),
  timeout: option('Then it is ended (server default: 30s)', 'duration'),
  ...HOST_OPTION,
  ...JSON_OPTION,
};

/** Exit code of timeout(1), and a shell's offset for a program that a signal ended. */
const TIMED_OUT = 124;
const SIGNALED = 128;

/** `mayfly source run`: runs an inspection, with its output and exit code. */
export const runCommand = customCommand({
  description: 'Look at a prepared source: a command that changes nothing',
  args: ARGS,
  check: checkOneLine,
  async run({ io, args, connect, options }) {
    const { min, max } = LIMITS.sourceCommand.timeoutSeconds;
    const timeout = args.timeout === undefined ? null : seconds('timeout', args.timeout, { min, max });
    const request = { command: args.command, ...onHost(args), ...(timeout !== null && { timeoutSeconds: timeout }) };
    const result = await connect().sources.run(args.name, request, options);
    if (args.json) {
      io.printJson(result);
      return exitCodeOf(result);
    }
    await io.write('stdout', bytesOf(result.stdout));
    await io.write('stderr', bytesOf(result.stderr));
    if (result.stdout.truncated || result.stderr.truncated) io.note('mayfly: it printed more, which was not kept');
    if (result.timedOut) io.note('mayfly: its time was over');
    return exitCodeOf(result);
  },
});

/** Refuses words like those of `mayfly run`: here the line is parsed and checked as a whole. @throws CliError */
function checkOneLine(rawArgs: string[], definition: ArgsDef): ProgramWords {
  const at = rawArgs.indexOf('--');
  const [nameAt = -1, first] = positionalIndexes(rawArgs, definition);
  const name = rawArgs[nameAt] ?? '';
  try {
    if (at < 0) checkArguments(rawArgs, definition);
  } catch (error) {
    if (first === undefined || first === rawArgs.length - 1) throw error;
    throw notOneLine(name, rawArgs.slice(first));
  }
  if (at >= 0) throw notOneLine(name, rawArgs.slice(at + 1));
  return { program: [], repeated: new Map() };
}

function notOneLine(name: string, words: string[]): CliError {
  const line = words.join(' ');
  const example = line === '' || line.includes("'") ? 'ps aux | head -5' : line;
  return usageError('a command on a source is one argument, quoted', `mayfly source run ${name} '${example}'`);
}

function bytesOf({ text, base64 }: SourceOutput): Uint8Array {
  return text === null ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text);
}

function exitCodeOf({ exitCode, signal, timedOut }: SourceCommandResult): number {
  if (timedOut) return TIMED_OUT;
  if (exitCode !== null) return exitCode;
  const numbers: Partial<Record<string, number>> = constants.signals;
  return SIGNALED + (numbers[signal ?? ''] ?? 0);
}
