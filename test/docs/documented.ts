import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandDef } from 'citty';
import { findCommand, getArgs } from '../../cli/catalog/leaf.ts';
import { repository } from '../../worker/config/artifacts.mjs';

/** Pages for users. */
export const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(repository, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** Programs at the start of a command line; other lines are not commands. */
const PROGRAMS = /^(?:\$ )?(?:sudo )?(?:[A-Z]+=\S+ )?(?:(?:bin\/)?mayfly|curl|npm|npx|node|virsh|ssh|source)\b/;
const INLINE = /`((?:sudo )?(?:bin\/)?mayfly [a-z-][^`\n]*)`/g;

export function textOf(page: string): string {
  return readFileSync(join(repository, page), 'utf8');
}

/** Lists the command lines of a page in order: in blocks, and complete ones in sentences. @param root of `mayfly` */
export async function commandLinesOf(page: string, root: CommandDef): Promise<string[]> {
  const found: string[] = [];
  let isFenced = false;
  for (const line of textOf(page)
    .replace(/\\\n\s*/g, '')
    .split('\n')) {
    if (line.startsWith('```')) isFenced = !isFenced;
    else if (isFenced || line.startsWith('    ')) {
      if (PROGRAMS.test(line.trim()) || /^[A-Z]+=/.test(line)) found.push(line.trim().replace(/^\$ /, ''));
    } else {
      for (const [, command = ''] of line.matchAll(INLINE)) if (await isWhole(root, command)) found.push(command);
    }
  }
  return found;
}

/** Reports whether a command has its arguments; a mere mention such as `mayfly ssh` has not. */
async function isWhole(root: CommandDef, line: string): Promise<boolean> {
  const words = wordsOf(line);
  if (words[0]?.startsWith('--')) return true;
  const { command, rest } = await findCommand(root, words);
  if (command.subCommands) return false;
  const args = await getArgs(command);
  const needed = Object.values(args).filter((arg) => arg.required);
  return rest.filter((word) => !word.startsWith('--')).length >= needed.length;
}

/** Splits one `mayfly …` without its comment; a quotation or placeholder is one word. */
export function wordsOf(line: string): string[] {
  const own = line.replace(/^(?:sudo )?(?:bin\/)?mayfly /, '').replace(/\s+#.*$/, '');
  const words = own.replace(/'[^']*'|"[^"]*"|<[^>]*>/g, 'quoted').trim();
  return words.split(/\s+/);
}

/** Returns the unknown command or option of a command line; null when there is none. */
export async function wrongIn(root: CommandDef, line: string): Promise<string | null> {
  const words = wordsOf(line);
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  const { command, rest } = await findCommand(root, own);
  if (command.subCommands) return own.length === 1 && rest.length === 0 ? null : `no such command: ${rest[0] ?? line}`;
  const args = await getArgs(command);
  const known = new Set(['--help', ...Object.keys(args).map((name) => `--${name}`)]);
  const unknown = rest.map((word) => /^\[?(--[a-z][a-z-]*)/.exec(word)?.[1]).find((name) => name && !known.has(name));
  return unknown ? `no option ${unknown}` : null;
}
