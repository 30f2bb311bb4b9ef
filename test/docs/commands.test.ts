import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandDef } from 'citty';
import { expect, test } from 'vitest';
import { createCommands } from '../../cli/commands.ts';
import { Io } from '../../cli/terminal/io.ts';
import { leafOf } from '../../cli/terminal/leaf.ts';
import { repository } from '../../worker/config/artifacts.mjs';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(repository, 'docs')).map((name) => join('docs', name)),
];

/** Each `mayfly …` of a page: between backticks, or a line of a block. */
function commandsOn(page: string): string[] {
  const text = readFileSync(join(repository, page), 'utf8');
  const inline = [...text.matchAll(/`(?:sudo )?(?:bin\/)?mayfly ([a-z][^`\n]*)`/g)];
  const lines = [...text.matchAll(/^ *(?:\$ )?(?:sudo )?(?:bin\/)?mayfly ([a-z].*)$/gm)];
  return [...inline, ...lines].map(([, words = '']) => words.replace(/\s+#.*$/, '').trim());
}

/** What of a command line is not a command's, or no option of it; null when all is. */
async function wrongIn(root: CommandDef, line: string): Promise<string | null> {
  const words = line.replace(/'[^']*'|"[^"]*"/g, 'quoted').split(/\s+/);
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  const { command, rest } = await leafOf(root, own);
  if (command.subCommands) return own.length === 1 && rest.length === 0 ? null : `no such command: ${rest[0] ?? line}`;
  const args = typeof command.args === 'function' ? await command.args() : await (command.args ?? {});
  const known = new Set(['--help', ...Object.keys(args).map((name) => `--${name}`)]);
  const unknown = rest.map((word) => /^\[?(--[a-z][a-z-]*)/.exec(word)?.[1]).find((name) => name && !known.has(name));
  return unknown ? `no option ${unknown}` : null;
}

// Promise: no page names a command or an option that is not there. Costs nothing; README's are run by readme.integration.
test('every command that a page names is one, with its options', async () => {
  const sink = { write: () => {} };
  const { signal } = new AbortController();
  const root = createCommands(new Io({ stdout: sink, stderr: sink, env: {}, signal, force: signal }));
  const wrong: string[] = [];
  let found = 0;
  for (const page of PAGES.filter((name) => name.endsWith('.md'))) {
    for (const line of commandsOn(page)) {
      found++;
      const why = await wrongIn(root, line);
      if (why) wrong.push(`${page}: mayfly ${line}: ${why}`);
    }
  }
  expect(found).toBeGreaterThan(60);
  expect(wrong).toEqual([]);
});
