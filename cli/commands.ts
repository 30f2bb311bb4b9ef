import { type CommandDef, defineCommand } from 'citty';
import { BUILD, EVENTS, EVERYDAY } from './catalog/everyday.ts';
import type { CatalogEntry } from './catalog/listed.ts';
import { OPERATE } from './catalog/operate.ts';
import type { Io } from './terminal/io.ts';

/** Command that completes the others in a shell. */
const COMPLETION: CatalogEntry = {
  name: 'completion',
  description: 'Print completions for a shell: source <(mayfly completion), or --shell zsh',
  load: async (io) => (await import('./completion.ts')).completionOf(createCommands)(io),
};

/** All commands, grouped by purpose. */
export const GROUPS: { title: string; commands: CatalogEntry[] }[] = [
  { title: 'EVERYDAY', commands: EVERYDAY },
  { title: 'BUILD', commands: BUILD },
  { title: 'EVENTS', commands: EVENTS },
  { title: 'OPERATE', commands: [...OPERATE, COMPLETION] },
];
export const LISTED = GROUPS.flatMap(({ commands }) => commands);

/** Returns the root command. Each command is loaded on demand: most need few modules. */
export function createCommands(io: Io): CommandDef {
  const names = LISTED.flatMap((one) => [one.name, ...(one.aliases ?? [])].map((name) => [name, one] as const));
  return defineCommand({
    meta: { name: 'mayfly', description: 'Disposable virtual machines for AI agents' },
    subCommands: Object.fromEntries(names.map(([name, one]) => [name, () => load(io, name, one)])),
  });
}

/** Loads a command. The catalog provides its name and description. */
async function load(io: Io, name: string, listed: CatalogEntry): Promise<CommandDef> {
  return { ...(await listed.load(io)), meta: { name, description: listed.description } };
}
