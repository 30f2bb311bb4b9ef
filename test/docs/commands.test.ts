import { expect, test } from 'vitest';
import { namesBelow, subCommandsOf } from '../../cli/catalog/leaf.ts';
import { getVerbs } from '../../cli/catalog/listed.ts';
import { createCommands, LISTED } from '../../cli/commands.ts';
import { quietIo } from '../cli/run-line.ts';
import { PAGES, textOf, wrongIn } from './documented.ts';

const root = createCommands(quietIo());

/** Returns each `mayfly …` of a page: between backticks, or a line of a block. */
function commandsOn(page: string): string[] {
  const text = textOf(page);
  const inline = [...text.matchAll(/`(?:sudo )?(?:bin\/)?mayfly ([a-z][^`\n]*)`/g)];
  const lines = [...text.matchAll(/^ *(?:\$ )?(?:sudo )?(?:bin\/)?mayfly ([a-z].*)$/gm)];
  return [...inline, ...lines].map(([, words = '']) => words.replace(/\s+#.*$/, '').trim());
}

// Guards: no page names an unknown command or option. Costs nothing; docs/pages.integration runs them.
test('every command on a page exists, with its options', async () => {
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

test('the catalog, which loads no command, lists the subcommands of each', async () => {
  const commands = await subCommandsOf(root);
  const below = Object.fromEntries(commands.map(([name, command]) => [name, namesBelow(command)]));
  for (const listed of LISTED) expect([listed.name, below[listed.name]]).toEqual([listed.name, getVerbs(listed)]);
});
