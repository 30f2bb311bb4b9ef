import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { pictures } from '../../scripts/docs/pictures.ts';

it('the pictures below docs/ are those that `npm run docs` draws', async () => {
  for (const [file, drawn] of Object.entries(await pictures())) {
    expect(await readFile(new URL(`../../docs/${file}`, import.meta.url), 'utf8'), file).toBe(drawn);
  }
});
