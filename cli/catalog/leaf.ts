import { stripVTControlCharacters } from 'node:util';
import { type ArgsDef, type CommandDef, parseArgs } from 'citty';
import { type CliError, usageError } from '../terminal/cli-error.ts';
import { type CatalogEntry, getVerbs } from './listed.ts';
import { suggest } from './suggestion.ts';

/** Command, the words that name it, and the rest of the command line. */
interface Leaf {
  path: string[];
  command: CommandDef;
  rest: string[];
}

/** Follows the words of a command line down the tree; stops at a word that names no command. */
export async function findCommand(root: CommandDef, argv: string[]): Promise<Leaf> {
  let command = root;
  const path = ['mayfly'];
  let rest = argv;
  for (;;) {
    const [word, ...others] = rest;
    const commands = command.subCommands as Record<string, CommandDef | (() => Promise<CommandDef>)> | undefined;
    const next = word !== undefined && commands && Object.hasOwn(commands, word) ? commands[word] : undefined;
    if (word === undefined || !next) return { path, command, rest };
    path.push(word);
    command = typeof next === 'function' ? await next() : next;
    rest = others;
  }
}

/** Returns the error for an unknown command, with the probably intended one. */
export function unknownCommand({ path, command }: Leaf, word: string, all: CatalogEntry[]): CliError {
  const beside = namesBelow(command);
  const known = all.map((listed) => ({ name: listed.name, verbs: getVerbs(listed) }));
  const meant = suggest(word, { path, beside, all: known });
  return usageError(
    `there is no command ${JSON.stringify([...path.slice(1), word].join(' '))}`,
    meant === null ? `See \`${path.join(' ')} --help\`.` : `Did you mean \`${meant.join(' ')}\`?`,
  );
}

/** Returns the names of the commands below one, without their aliases. */
export function namesBelow({ subCommands = {} }: CommandDef): string[] {
  return Object.entries(subCommands).flatMap(([name, sub]) => (isHidden(sub) ? [] : [name]));
}

/** Reports whether a name is an alias of another verb. */
function isHidden(sub: unknown): boolean {
  return typeof sub === 'object' && (sub as { meta?: { hidden?: boolean } } | null)?.meta?.hidden === true;
}

/** Loads the commands below one, by name. */
export async function subCommandsOf(command: CommandDef): Promise<[string, CommandDef][]> {
  const found = Object.entries((command.subCommands ?? {}) as Record<string, unknown>);
  return Promise.all(
    found.map(async ([name, sub]) => [name, (await (typeof sub === 'function' ? sub() : sub)) as CommandDef] as const),
  ).then((all) => all.map(([name, sub]) => [name, sub]));
}

/** Returns the arguments and options of a command, by name. */
export async function getArgs({ args = {} }: CommandDef): Promise<ArgsDef> {
  return typeof args === 'function' ? args() : args;
}

/**
 * Runs a command that has no commands below it.
 * @returns its exit code
 * @throws CliError for invalid arguments
 */
export async function runLeaf({ command, rest }: Leaf): Promise<number> {
  const args = parseArguments(rest, await getArgs(command));
  return (await command.run?.({ rawArgs: rest, args, cmd: command })) as number;
}

function parseArguments(rest: string[], definition: Parameters<typeof parseArgs>[1]) {
  try {
    return parseArgs(rest, definition);
  } catch (error) {
    throw usageError(stripVTControlCharacters(error instanceof Error ? error.message : String(error)));
  }
}
