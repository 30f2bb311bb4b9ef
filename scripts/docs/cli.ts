import type { ArgDef, CommandDef } from 'citty';
import { getArgs, namesBelow, subCommandsOf } from '../../cli/catalog/leaf.ts';
import { GROUPS } from '../../cli/commands.ts';
import type { Io } from '../../cli/terminal/io.ts';

const TITLES = new Map([
  ['EVERYDAY', 'Sandboxes'],
  ['BUILD', 'Build'],
  ['EVENTS', 'Events and functions'],
  ['OPERATE', 'Operate'],
]);

/** Least number of commands that have an option with the same text, for it to be described once. */
const COMMON = 5;

interface Section {
  head: string;
  rows: { option: string; text: string }[];
}

/** Returns docs/cli.md: all commands with their arguments and options. */
export async function cliPage(io: Io): Promise<string> {
  const groups = await Promise.all(
    GROUPS.map(async ({ title, commands }) => {
      const sections = commands.map(async ({ name, description, aliases = [], load }) =>
        sectionsOf([name], { ...(await load(io)), meta: { name, description } }, aliases),
      );
      return { title: TITLES.get(title) ?? title, sections: (await Promise.all(sections)).flat() };
    }),
  );
  const lines = groups.flatMap(({ sections }) => sections.flatMap(({ rows }) => rows.map(lineOf)));
  const common = [...new Set(lines)].filter((line) => lines.filter((other) => other === line).length >= COMMON);
  const pages = groups.map(({ title, sections }) =>
    [`## ${title}`, ...sections.map((section) => sectionText(section, common))].join('\n\n'),
  );
  return `# Commands

Generated from cli/ by \`npm run docs\`; do not edit. Every command has \`--help\`.

## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | the attempt failed |
| 2 | invalid command line, environment or request; nothing was attempted |
| 3 | not found |
| 4 | no key, a wrong key, or a key without the permission |
| 5 | temporary: no answer, no host, no room; the same command can succeed later |
| 124 | \`--wait\` ended first; the operation continues. \`run\`: the command timed out |
| 125, 126, 127 | \`run\`: Mayfly failed, not the command; the program cannot be executed; the guest has no such program |
| 130 | interrupted |
| 141 | the reader of the output has closed it, as \`head\` does; \`run\` has ended its command |

\`mayfly run\` and \`mayfly ssh\` exit with the code of the command; with 128 + the number of the signal that ended it; with 255 if the end is unknown.

## Common options

Options and arguments that mean the same in many commands:

${common.join('\n')}

${pages.join('\n\n')}
`;
}

function sectionText({ head, rows }: Section, common: readonly string[]): string {
  const own = rows.map(lineOf).filter((line) => !common.includes(line));
  const shared = rows.filter((row) => common.includes(lineOf(row)) && row.option.startsWith('--'));
  const also = shared.length > 0 ? [`* ${shared.map(({ option }) => `\`${option}\``).join(', ')}: as above`] : [];
  const lines = [...own, ...also];
  return lines.length > 0 ? `${head}\n\n${lines.join('\n')}` : head;
}

function lineOf({ option, text }: Section['rows'][number]): string {
  return `* \`${option}\` ${text}`.trimEnd();
}

async function sectionsOf(path: string[], command: CommandDef, aliases: string[] = []): Promise<Section[]> {
  const { description = '' } = command.meta as { description?: string };
  const shown = namesBelow(command);
  const below = (await subCommandsOf(command)).filter(([name]) => shown.includes(name));
  const sections = await Promise.all(below.map(([name, sub]) => sectionsOf([...path, name], sub)));
  const args = Object.entries(await getArgs(command));
  const positional = args.filter(([, { type }]) => type === 'positional').map(usageOf);
  const also = aliases.length > 0 ? ` Also: ${aliases.join(', ')}.` : '';
  const head = `### ${[...path, ...positional].join(' ')}\n\n${description}.${also}`;
  return [{ head, rows: args.map(rowOf) }, ...sections.flat()];
}

function usageOf([name, { required = true }]: [string, ArgDef]): string {
  const shown = name.toUpperCase();
  return required ? shown : `[${shown}]`;
}

function rowOf([name, arg]: [string, ArgDef]): Section['rows'][number] {
  const hint = arg.type === 'enum' ? (arg.options ?? []).join('|') : 'valueHint' in arg ? arg.valueHint : undefined;
  const value = hint ? ` ${hint}` : '';
  const hasDefault = arg.default !== undefined && arg.default !== false && arg.default !== '';
  const given = hasDefault ? `. Default: ${String(arg.default)}` : '';
  const option = arg.type === 'positional' ? name.toUpperCase() : `--${name}${value}`;
  return { option, text: `${arg.description ?? ''}${given}` };
}
