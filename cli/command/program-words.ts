import { parseArgs } from 'node:util';
import type { ArgsDef } from 'citty';
import { checkArguments } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';

/** A command line, taken apart at `--`. */
interface ProgramWords {
  own: string[];
  program: string[];
  /** Values of the options that may be given more than once. */
  repeated: Map<string, string[]>;
}

/**
 * Takes a command line apart that runs a program of a guest, which stands behind `--`.
 * @param words of the command, such as `mayfly run`
 * @throws CliError with the line to type, where the program is not behind `--`
 */
export function splitProgram(
  words: string,
  rawArgs: string[],
  definition: ArgsDef,
  repeatable: string[] = [],
): ProgramWords {
  const split = rawArgs.indexOf('--');
  const own = split === -1 ? rawArgs : rawArgs.slice(0, split);
  const at = split === -1 ? programIndex(own, definition) : null;
  if (at !== null) {
    checkArguments(own.slice(0, at), definition, repeatable); // a mistyped option, whose value looks like the program
    throw usageError('the program goes behind `--`', [words, ...own.slice(0, at), '--', ...own.slice(at)].join(' '));
  }
  const program = split === -1 ? [] : rawArgs.slice(split + 1);
  return { own, program, repeated: checkArguments(own, definition, repeatable) };
}

/** Index of the first word after the sandbox that is no option: a program, whose options follow it. @returns null: none */
export function programIndex(own: string[], definition: ArgsDef): number | null {
  const options = Object.entries(definition).filter(([, { type }]) => type !== 'positional');
  const known = options.map(([name, { type }]) => [name, { type: type === 'boolean' ? type : 'string' }] as const);
  const { tokens } = parseArgs({
    args: own,
    options: Object.fromEntries(known),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return tokens.filter(({ kind }) => kind === 'positional')[1]?.index ?? null;
}
