import type { SubCommandsDef } from 'citty';
import type { Io } from '../terminal/io.ts';

/** Entry of `mayfly --help`, which loads no command. */
export interface CatalogEntry {
  name: string;
  description: string;
  /** Imports its module. */
  load: (io: Io) => Extract<SubCommandsDef[string], Promise<unknown>>;
  /** Aliases of the command, such as those of docker and kubectl. */
  aliases?: string[];
  /** Names of the commands below it, separated by spaces. `@default` none */
  verbs?: string;
}

/** Lists the names below a command. */
export function getVerbs({ verbs = '' }: Pick<CatalogEntry, 'verbs'>): string[] {
  return verbs.split(' ').filter((verb) => verb !== '');
}

/** Returns the help of `mayfly` itself: each command on a line, grouped by purpose. */
export function overview(io: Io, groups: { title: string; commands: CatalogEntry[] }[]): string {
  const names = ({ name, aliases = [] }: CatalogEntry) => [name, ...aliases].join(', ');
  const width = Math.max(...groups.flatMap(({ commands }) => commands.map((one) => names(one).length)));
  const lines = groups.flatMap(({ title, commands }) => [
    '',
    io.paint('bold', title),
    ...commands.map((one) => `  ${names(one).padEnd(width)}  ${one.description}`),
  ]);
  return [
    'Disposable virtual machines for AI agents',
    '',
    'Usage: mayfly <command> [options]. Start with `mayfly demo`, or with `mayfly up` and `mayfly sandbox create`.',
    ...lines,
    '',
    '`mayfly <command> --help` shows the options of a command, and the commands below it.',
  ].join('\n');
}
