import { parseArgs } from 'node:util';
import type { ArgsDef } from 'citty';
import { checkArguments } from './arguments.ts';
import { usageError } from './cli-error.ts';

/** A command line, taken apart at `--`. */
export interface ProgramWords {
  program: string[];
  /** Values of the options that may be given more than once. */
  repeated: Map<string, string[]>;
}

/**
 * Makes the check of a command that runs a program of a guest, which stands behind `--`.
 * @param words of the command, such as `mayfly run`
 * @throws CliError with the line to type, where the program is not behind `--`
 */
export function programBehind(words: string) {
  return (rawArgs: string[], definition: ArgsDef, repeatable: string[]): ProgramWords =>
    splitProgram(words, rawArgs, definition, repeatable);
}

function splitProgram(words: string, rawArgs: string[], definition: ArgsDef, repeatable: string[]): ProgramWords {
  const split = rawArgs.indexOf('--');
  const own = split === -1 ? rawArgs : rawArgs.slice(0, split);
  const at = split === -1 ? positionalIndexes(own, definition)[1] : undefined;
  if (at !== undefined) {
    checkArguments(own.slice(0, at), definition, repeatable); // a mistyped option, whose value looks like the program
    throw usageError('the program goes behind `--`', [words, ...own.slice(0, at), '--', ...own.slice(at)].join(' '));
  }
  const program = split === -1 ? [] : rawArgs.slice(split + 1);
  return { program, repeated: checkArguments(own, definition, repeatable) };
}

/** Returns where the words are that are no options: a sandbox or a source, then a program, whose options follow it. */
export function positionalIndexes(own: string[], definition: ArgsDef): number[] {
  const options = Object.entries(definition).filter(([, { type }]) => type !== 'positional');
  const known = options.map(([name, { type }]) => [name, { type: type === 'boolean' ? type : 'string' }] as const);
  const { tokens } = parseArgs({
    args: own,
    options: Object.fromEntries(known),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return tokens.flatMap(({ kind, index }) => (kind === 'positional' ? [index] : []));
}
