import { type CommandDef, parseArgs } from 'citty';
import { type CliError, usageError } from './cli-error.ts';

/** A command, the words that led to it, and what is left of the command line. */
export interface Leaf {
  path: string[];
  command: CommandDef;
  rest: string[];
}

/** Follows the words of a command line down the tree; stops where a word is no command's name. */
export async function leafOf(root: CommandDef, argv: string[]): Promise<Leaf> {
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

/** That a word is no command's name, and which one may be meant. */
export async function unknownCommand(root: CommandDef, { path, command }: Leaf, word: string): Promise<CliError> {
  const beside = namesIn(command).map((name) => [...path, name]);
  const meant = nearest(word, [...beside, ...(await below(root))]);
  return usageError(
    `there is no command ${JSON.stringify([...path.slice(1), word].join(' '))}`,
    meant === null ? `See \`${path.join(' ')} --help\`.` : `Did you mean \`${meant.join(' ')}\`?`,
  );
}

/** The commands of all that have some. */
async function below(root: CommandDef): Promise<string[][]> {
  const commands = await subCommandsOf(root);
  return commands.flatMap(([name, command]) => namesIn(command).map((inner) => ['mayfly', name, inner]));
}

/** The commands below one, loaded, by name. */
export async function subCommandsOf(command: CommandDef): Promise<[string, CommandDef][]> {
  const found = Object.entries((command.subCommands ?? {}) as Record<string, unknown>);
  return Promise.all(
    found.map(async ([name, sub]) => [name, (await (typeof sub === 'function' ? sub() : sub)) as CommandDef] as const),
  ).then((all) => all.map(([name, sub]) => [name, sub]));
}

function namesIn(command: CommandDef): string[] {
  return Object.keys(command.subCommands ?? {});
}

/** The first of those whose last word is mistyped as `word`, by at most a third of it; null when none is. */
function nearest(word: string, paths: string[][]): string[] | null {
  const ranked = paths.map((path) => ({ path, edits: editsBetween(word, path.at(-1) ?? '') }));
  const [best] = ranked.toSorted((a, b) => a.edits - b.edits);
  return best && best.edits <= Math.max(1, Math.floor(word.length / 3)) ? best.path : null;
}

/** Letters left out, put in, replaced, or swapped with their neighbour: the distance of optimal string alignment. */
function editsBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, n) => n)];
  for (let i = 1; i <= a.length; i++) {
    const [above, row] = [rows[i - 1] ?? [], [i]];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (rows[i - 2]?.[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min(replaced, swapped, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}

/**
 * Runs a command that has no commands below it.
 * @returns its exit code
 * @throws CliError when the arguments are not what it takes
 */
export async function runLeaf({ command, rest }: Leaf): Promise<number> {
  const definition = typeof command.args === 'function' ? await command.args() : await (command.args ?? {});
  const args = parsed(rest, definition);
  return (await command.run?.({ rawArgs: rest, args, cmd: command })) as number;
}

function parsed(rest: string[], definition: Parameters<typeof parseArgs>[1]) {
  try {
    return parseArgs(rest, definition);
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error));
  }
}
