import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { repository } from '../../../worker/config/artifacts.mjs';
import { textOf } from '../../docs/documented.ts';
import { LONG, listWalks, usePageWalks } from '../../docs/page-walks.ts';

const run = promisify(execFile);
const { installation, runPage } = usePageWalks();

// Promise: each command line of CONTRIBUTING and docs/ runs unchanged. README is in test/docs/.
const walks = listWalks().filter(([page]) => page !== 'README.md');
const isLong = ([page]: [string, string[]]) => LONG.includes(page);
describe.concurrent('each command runs unchanged', () => {
  for (const [page, commands] of walks.filter(isLong)) test(page, () => runPage(page, commands));
});
// Commands on the whole installation, or on all its keys, come after them.
describe('and so does', () => {
  for (const [page, commands] of walks.filter((walk) => !isLong(walk))) test(page, () => runPage(page, commands));
});

test('the JavaScript of README.md runs in its own project', async () => {
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
