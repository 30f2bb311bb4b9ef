import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { cliPage } from '../../scripts/docs/cli.ts';
import { pictures } from '../../scripts/docs/pictures.ts';
import { quietIo } from '../cli/run-line.ts';

it('the generated files below docs/ match the output of `npm run docs`', async () => {
  const generated = { ...(await pictures()), 'cli.md': await cliPage(quietIo()) };
  for (const [file, written] of Object.entries(generated)) {
    expect(await readFile(new URL(`../../docs/${file}`, import.meta.url), 'utf8'), file).toBe(written);
  }
});
