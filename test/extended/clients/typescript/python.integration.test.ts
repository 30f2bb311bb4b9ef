import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readyPythonTools } from '../../../../scripts/setup/python/python-tools.mjs';
import { repository } from '../../../../worker/config/artifacts.mjs';
import { BadNetwork } from '../../../clients/typescript/scenarios/bad-network.ts';
import list from '../../../clients/typescript/scenarios/list.json' with { type: 'json' };
import { textOf } from '../../../docs/documented.ts';
import { Installation } from '../../../docs/page-walk.ts';
import { useFolder } from '../../../support/use-folder.ts';

const run = promisify(execFile);
const BUILT = join(repository, 'dist', 'python');
/** Limit of all scenarios, ms: they take 40 s on a quiet machine. */
const HUNG_MS = 280_000;
const outcome = z.object({ n: z.int(), failure: z.string().nullable() });
/** Python made by set-up: tests have no network. */
const python = readyPythonTools() ?? '';
const folder = useFolder();
let here: Installation | undefined;
let network: BadNetwork | undefined;

beforeAll(async () => {
  if (python === '') throw new Error('the Python client cannot be built here: npm run setup -- --only python-client');
  await run('npm', ['run', '-s', 'client:python'], { cwd: repository });
  here = await Installation.start();
  network = await BadNetwork.before(here.url);
});
afterAll(async () => {
  await network?.stop();
  await here?.end();
});

function env(): NodeJS.ProcessEnv {
  const key = here?.env['MAYFLY_API_KEY'] ?? '';
  return { ...process.env, ...here?.env, URL: network?.url ?? '', KEY: key, PYTHONDONTWRITEBYTECODE: '1' };
}

test('mypy, strictly, and pyright find nothing', async () => {
  const pyright = join(repository, 'node_modules', '.bin', 'pyright');
  const [strict, checked] = await Promise.all([
    run(python, ['-m', 'mypy', '--cache-dir', folder, 'mayfly', 'scenarios'], { cwd: BUILT }),
    run(pyright, ['--pythonpath', python, 'mayfly'], { cwd: BUILT }),
  ]);
  expect(strict.stdout).toContain('no issues found');
  expect(checked.stdout).toContain('0 errors, 0 warnings');
});

test('a foreign folder installs it, and runs the program of docs/clients.md', async () => {
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-build-isolation', '--no-index', '--target'];
  await run(python, [...pip, folder, BUILT]);
  const [, program = ''] = /```python\n(.*?)```/s.exec(textOf('docs/clients.md')) ?? [];
  const { stdout, stderr } = await run(python, ['-c', program], { cwd: folder, env: env() });
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^0 2 \/tmp\/names\nstdout 1\n/), '']);
});

// Promise: the same 40 scenarios as in TypeScript, in threads and in asyncio. Costs 40 s each.
describe.each(['async', 'sync'])('%s', (kind) => {
  const outcomes = new Map<number, string | null>();
  const said: string[] = [];

  beforeAll(async () => {
    const numbers = list.map(({ n }) => n).join(',');
    const child = spawn(python, ['-m', 'scenarios', kind, numbers], {
      cwd: BUILT,
      env: env(),
      timeout: HUNG_MS,
      killSignal: 'SIGKILL',
    });
    child.stderr.on('data', (text) => said.push(String(text)));
    for await (const line of createInterface({ input: child.stdout })) {
      const { n, failure } = outcome.parse(JSON.parse(line));
      outcomes.set(n, failure);
    }
  });

  for (const { n, must } of list) {
    test(`${n}: ${must}`, () => expect(outcomes.get(n) ?? (outcomes.has(n) ? null : said.join(''))).toBe(null));
  }
});
