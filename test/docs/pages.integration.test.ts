import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../worker/config/artifacts.mjs';
import { LINES, listWalks, NOT_HERE, usePageWalks } from './page-walks.ts';

const { runPage } = usePageWalks();

test('each command of README.md runs unchanged', async () => {
  const [page, commands] = listWalks().find(([name]) => name === 'README.md') ?? ['', []];
  expect(commands).not.toEqual([]);
  await runPage(page, commands);
});

test('skipped commands exist: scripts, and files', () => {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { scripts: object };
  const left = [...LINES.values()].flat();
  for (const [pattern] of NOT_HERE)
    expect(
      left.filter((line) => pattern.test(line)),
      String(pattern),
    ).not.toEqual([]);
  for (const line of left) {
    for (const [, name = ''] of line.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name);
    for (const [file] of line.matchAll(/\b(?:test|scripts)\/[\w/.-]+\.(?:ts|mjs)\b/g)) {
      expect([file, existsSync(join(repository, file))]).toEqual([file, true]);
    }
  }
});
