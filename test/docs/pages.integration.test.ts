import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { repository } from '../../worker/config/artifacts.mjs';
import { textOf } from './documented.ts';
import { LINES, listWalks, NOT_HERE, usePageWalks } from './page-walks.ts';

const run = promisify(execFile);
const { installation, runPage } = usePageWalks();

// Promise: each line of README that is a command runs as it stands.
test('each command of README.md runs as it stands', async () => {
  const [page, commands] = listWalks().find(([name]) => name === 'README.md') ?? ['', []];
  expect(commands).not.toEqual([]);
  await runPage(page, commands);
});

// Promise: the client is installed and imported by plain Node, as README says. Costs 5 s, most of it the compiler's.
test('the JavaScript of README.md, in a project of its own', async () => {
  const project = join(installation().folder, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  const program = /```js\n(.*?)```/s.exec(textOf('README.md'))?.[1] ?? '';
  await writeFile(join(project, 'first.js'), program.replace('http://127.0.0.1:7999', installation().url));
  await run('npm', ['run', 'client'], { cwd: repository });
  const built = join(repository, 'dist', 'client');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', built], { cwd: project });
  const { secret } = await installation().client.createKey({
    name: 'from JavaScript',
    scopes: ['sandboxes:read', 'sandboxes:write'],
  });
  const env = { ...process.env, KEY: secret };
  const { stdout, stderr } = await run(process.execPath, ['first.js'], { cwd: project, env });
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^Linux /), '']);
});

test('what is left out is there: scripts, and files', () => {
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
