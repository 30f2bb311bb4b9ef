import { expect, test } from 'vitest';
import { namesBelow, subCommandsOf } from '../../cli/catalog/leaf.ts';
import { getVerbs } from '../../cli/catalog/listed.ts';
import { createCommands, LISTED } from '../../cli/commands.ts';
import { quietIo } from '../cli/run-line.ts';
import { PAGES, textOf, wrongIn } from './documented.ts';

const root = createCommands(quietIo());

/** Each `mayfly …` of a page: between backticks, or a line of a block. */
function commandsOn(page: string): string[] {
  const text = textOf(page);
  const inline = [...text.matchAll(/`(?:sudo )?(?:bin\/)?mayfly ([a-z][^`\n]*)`/g)];
  const lines = [...text.matchAll(/^ *(?:\$ )?(?:sudo )?(?:bin\/)?mayfly ([a-z].*)$/gm)];
  return [...inline, ...lines].map(([, words = '']) => words.replace(/\s+#.*$/, '').trim());
}

// Promise: no page names a command or an option that is not there. Costs nothing; docs/pages.integration runs them.
test('every command that a page names is one, with its options', async () => {
  const wrong: string[] = [];
  let found = 0;
  for (const page of PAGES) {
    for (const line of commandsOn(page)) {
      found++;
      const why = await wrongIn(root, line);
      if (why) wrong.push(`${page}: mayfly ${line}: ${why}`);
    }
  }
  expect(found).toBeGreaterThan(60);
  expect(wrong).toEqual([]);
});

test('the catalog, which loads no command, names the very commands below each', async () => {
  const commands = await subCommandsOf(root);
  const below = Object.fromEntries(commands.map(([name, command]) => [name, namesBelow(command)]));
  for (const listed of LISTED) expect([listed.name, below[listed.name]]).toEqual([listed.name, getVerbs(listed)]);
});
