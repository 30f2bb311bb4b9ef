import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { ArgsDef } from 'citty';
import { isCaptureId, isImageId, isRunId, isSandboxName } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { usageError } from './cli-error.ts';

/** Describes a required argument. */
export function positional(description: string) {
  return { type: 'positional', description, required: true } as const;
}

/** Describes an option that is off unless it is given. */
export function flag(description: string) {
  return { type: 'boolean', description, default: false } as const;
}

/** Describes an option that has a value. @param valueHint such as `10m` */
export function option(description: string, valueHint?: string) {
  return { type: 'string', description, ...(valueHint !== undefined && { valueHint }) } as const;
}

export const JSON_OPTION = {
  json: { type: 'boolean', description: 'Print exactly one JSON document on stdout', default: false },
} as const satisfies ArgsDef;

/** `--wait`, as in POST and DELETE. */
export const WAIT_OPTION = {
  wait: {
    type: 'string',
    valueHint: 'duration',
    description: 'How long to wait; what was asked for goes on in any case (exit 124)',
    default: `${LIMITS.waitSeconds.max}s`,
  },
} as const satisfies ArgsDef;

/**
 * Refuses arguments that citty accepts: unknown options, an option without its value, too many arguments.
 * @param repeatable options that may be given more than once; also the last argument, if it takes any number
 * @returns the values of those
 * @throws CliError
 */
export function checkArguments(
  rawArgs: string[],
  definition: ArgsDef,
  repeatable: string[] = [],
): Map<string, string[]> {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  const positionals: string[] = [];
  for (const [name, argument] of Object.entries(definition)) {
    const { type } = argument;
    if (type === 'positional') {
      positionals.push(name);
      continue;
    }
    options[name] = { type: type === 'boolean' ? 'boolean' : 'string', multiple: repeatable.includes(name) };
    const alias = 'alias' in argument ? argument.alias : undefined;
    if (typeof alias === 'string') options[name].short = alias;
  }
  try {
    const allowNegative = Object.values(definition).some((argument) => 'negativeDescription' in argument);
    const parsed = parseArgs({ args: rawArgs, options, strict: true, allowPositionals: true, allowNegative });
    const last = positionals.at(-1) ?? '';
    const rest = parsed.positionals.slice(repeatable.includes(last) ? positionals.length - 1 : positionals.length);
    if (rest[0] !== undefined && !repeatable.includes(last)) throw new TypeError(`Unexpected argument '${rest[0]}'`);
    const values = { ...parsed.values, [last]: rest };
    return new Map(repeatable.map((name) => [name, (values[name] ?? []) as string[]]));
  } catch (error) {
    throw usageError(error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error));
  }
}

/** @throws CliError when `text` is not a whole number in the bounds */
export function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}

export function waitSeconds(text: string): number {
  return seconds('wait', text, { min: 0, max: LIMITS.waitSeconds.max });
}

/** Makes the check of an argument, which throws a CliError. */
export function createCheck(
  isValid: (text: string) => boolean,
  fault: string,
  remedy: string,
): (text: string) => string {
  return (text) => {
    if (isValid(text)) return text;
    throw usageError(`${JSON.stringify(text)} ${fault}`, remedy);
  };
}

export const sandboxId = createCheck(isSandboxId, 'is not a sandbox id', 'List them with `mayfly sandbox list`.');

/** @throws CliError when `text` is neither the id nor the name of a sandbox */
export function idOrName(text: string): string {
  if (isSandboxId(text) || isSandboxName(text)) return text;
  const why = `${JSON.stringify(text)} is neither the id nor the name of a sandbox`;
  if (isRunId(text)) throw usageError(why, `It is a run: see \`mayfly function run ${text}\`, or \`function logs\`.`);
  throw usageError(why, 'List them with `mayfly sandbox list`.');
}

export const sandboxName = createCheck(
  isSandboxName,
  'cannot name a sandbox',
  '1 to 63 of a-z, 0-9 and -; it begins with a letter, does not end with -, and does not begin as an id does (sbx-).',
);

export const captureId = createCheck(
  isCaptureId,
  'is not a capture id',
  'List them with `mayfly capture list <source>`.',
);

export const imageId = createCheck(isImageId, 'is not the id of a build', 'List them with `mayfly image builds`.');

/** @throws CliError for an unknown value */
export function oneOf<T extends string>(option: string, text: string, known: readonly T[]): T {
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw usageError(`--${option} must be one of ${known.join(', ')}, not ${JSON.stringify(text)}`);
}

/** Command line, split at `--`. */
export interface ProgramWords {
  program: string[];
  /** Values of repeatable options. */
  repeated: Map<string, string[]>;
}

/**
 * Makes the check of a command that runs a guest's program, given after `--`.
 * @param words of the command, such as `mayfly run`
 * @throws CliError with the corrected line, when the program is not after `--`
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

/**
 * Returns the indexes of words that are not options: a sandbox or a source, then a program, whose options follow it.
 */
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

interface Bounds {
  min: number;
  max: number;
}

const DURATION = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?$/;
const MEMORY = /^(\d{1,9})(M|G)(?:i?B)?$/i;

/**
 * Parses seconds from `90`, `90s`, `15m`, `1h30m` or `2d`.
 * @throws CliError when `text` is invalid, or out of bounds
 */
export function seconds(name: string, text: string, { min, max }: Bounds): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : secondsOf(text);
  if (value >= min && value <= max) return value;
  throw usageError(
    `--${name} must be from ${min} to ${max} seconds, such as 90, 15m or 1h30m, not ${JSON.stringify(text)}`,
  );
}

function secondsOf(text: string): number {
  const match = DURATION.exec(text);
  if (!match || text === '') return Number.NaN;
  const [days = 0, hours = 0, minutes = 0, rest = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return days * 86_400 + hours * 3_600 + minutes * 60 + rest;
}

/**
 * Parses MiB from `512M` or `2G`; the units are binary, as with docker run --memory.
 * @throws CliError when `text` is invalid, or out of bounds
 */
export function mebibytes(name: string, text: string, { min, max }: Bounds): number {
  const [, digits, unit] = MEMORY.exec(text) ?? [];
  const value = Number(digits) * (unit?.toUpperCase() === 'G' ? 1_024 : 1);
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be from ${min}M to ${max}M, such as 512M or 2G, not ${JSON.stringify(text)}`);
}

/**
 * Parses a limit from `20`, `0.5` or `none`, as a multiple of a unit.
 * @returns null: no limit
 * @throws CliError when `text` is invalid, or out of bounds; a limit with unit 1 has no fraction
 */
export function limit(name: string, text: string, unit: number, { min, max }: Bounds, of = ''): number | null {
  if (text === 'none') return null;
  const isNumber = unit === 1 ? /^\d{1,7}$/.test(text) : /^\d{1,7}(\.\d{1,3})?$/.test(text);
  const value = isNumber ? Math.round(Number(text) * unit) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be a number${of} from ${min / unit} to ${max / unit}, or none`);
}

/** Formats milliseconds for a person: `12 ms`, `3.4 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Time between two ISO 8601 instants, milliseconds. */
export function between(start: string, end: string): number {
  return Date.parse(end) - Date.parse(start);
}
