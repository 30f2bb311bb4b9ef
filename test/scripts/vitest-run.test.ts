import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VitestRun } from '../../scripts/test/vitest-run.mjs';
import { repository } from '../../worker/config/artifacts.mjs';
import { FULL } from '../support/sweep.ts';

const PLAIN = `import { test } from 'vitest'; test('runs', () => {});`;
const CONFIG = `export default { test: { fileParallelism: false, tags: [{ name: 'sweep' }, { name: 'full' }] } };`;
let folder: string;
/** Arguments that make vitest run in the folder. */
let own: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runs-'));
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'vitest.config.mjs'), CONFIG);
  own = ['--root', folder, '--config', join(folder, 'vitest.config.mjs')];
});
afterAll(() => rm(folder, { recursive: true }));

const ENDS = [
  { event: 'ended', file: 'a', tests: [{ name: 'x', outcome: 'passed', seconds: 0, why: '' }], errors: [] },
  { event: 'over', errors: [] },
];
/** And not what this test itself runs in. */
const QUICK = { MAYFLY_TEST_TIER: 'quick', MAYFLY_TEST_FILTERED: '0' };

/** JavaScript that tells these events, in one piece. */
function tells(events: readonly unknown[]): string {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  return `fs.writeSync(3, ${JSON.stringify(lines)});`;
}

/** What is heard of a program in the place of a vitest. */
function hear(script: string, silenceMs?: number): Promise<VitestRun> {
  return end(() => [process.execPath, '-e', script], [], silenceMs);
}

async function write(files: Record<string, string>): Promise<string[]> {
  const names = Object.keys(files);
  for (const name of names) await writeFile(join(folder, `${name}.test.mjs`), files[name] ?? '');
  return names.map((name) => `${name}.test.mjs`);
}

/** Runs these files, each `name: text`, one after another in the order of their names. */
async function run(files: Record<string, string>, silenceMs = 120_000): Promise<VitestRun> {
  return end((argv) => [...argv], [...own, ...(await write(files))], silenceMs);
}

async function end(inside: (argv: readonly string[]) => string[], args: string[], silenceMs = 120_000) {
  const place = { name: 'none', root: folder, tmp: folder, inside, endAll: () => {} };
  const { signal } = new AbortController();
  const made = new VitestRun({ place, args, env: QUICK, shown: false, signal, onFile: () => {}, silenceMs });
  await made.run();
  return made;
}

test('a file that hangs is named, ended and counted once; one that never began is left to be run', async () => {
  const hangs = `import { test } from 'vitest'; test('waits', () => new Promise(() => {}), 0);`;
  const made = await run({ hangs }, 3_000);
  expect([made.isAccounted('hangs.test.mjs'), made.isAccounted('other.test.mjs')]).toEqual([true, false]);
  expect(made.tally).toMatchObject({ passed: 0, failed: 1 });
  expect(made.tally.reasons[0]).toMatch(/^hangs\.test\.mjs: hung or died in .*: nothing happened for 3 s$/);
});

// Costs 3 s.
test('the longest bound of a file is told when its beforeAll ends', FULL, async () => {
  await write({ first: `import { beforeAll, test } from 'vitest'; beforeAll(() => {}); test('a', () => {}, 70_000);` });
  const vitest = [join(repository, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...own, 'first.test.mjs'];
  const reporter = `--reporter=${join(repository, 'scripts', 'test', 'reporter.mjs')}`;
  const child = spawn(process.execPath, [...vitest, reporter], {
    cwd: repository,
    env: { ...process.env, ...QUICK, MAYFLY_TEST_EVENTS: '3' },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const [told] = await Promise.all([text(child.stdio[3] as Readable), once(child, 'close')]);
  const events = told
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
  expect(events).toContainEqual({ event: 'at', file: 'first.test.mjs', what: 'its first test', boundMs: 70_000 });
});

// Costs 3 s.
test('a long, silent test has its time', FULL, async () => {
  const begins = [
    { event: 'begun', file: 'a' },
    { event: 'at', file: 'a', what: 'its first test', boundMs: 60_000 },
  ];
  const silence = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);';
  const told = await hear(`${tells(begins)} ${silence} ${tells(ENDS)}`, 1_000);
  expect(told.tally).toMatchObject({ passed: 1, failed: 0, reasons: [] });
});

test('a vitest that dies is a failure of the file that it was in', FULL, async () => {
  const dies = `import { test } from 'vitest'; test('kills', async () => {
    process.kill(process.ppid, 'SIGKILL'); await new Promise((resolve) => setTimeout(resolve, 60_000)); });`;
  const { tally } = await run({ dies });
  expect(tally).toMatchObject({ passed: 0, failed: 1 });
  expect(tally.reasons[0]).toMatch(/^dies\.test\.mjs: hung or died in .*: vitest ended with SIGKILL$/);
});

test('passed, failed, skipped and left out are told apart', FULL, async () => {
  const { tally } = await run({
    plain: PLAIN,
    mixed: `import { expect, test } from 'vitest';
      test('passes', () => {}); test('fails', () => expect(1).toBe(2)); test.skip('is skipped', () => {});
      test.skip('is a point', { tags: ['sweep'] }, () => {});`,
    broken: `import { beforeAll, test } from 'vitest'; beforeAll(() => { throw new Error('no hook'); }); test('never', () => {});`,
    absent: `import './nowhere.mjs';`,
    empty: ``,
  });
  expect(tally.passed).toBe(2);
  expect(Object.fromEntries(tally.left)).toEqual({ 'mixed.test.mjs': 1 });
  expect(tally.reasons).toEqual(
    expect.arrayContaining([
      'mixed.test.mjs: fails\n    expected 1 to be 2 // Object.is equality',
      'mixed.test.mjs: did not run: is skipped',
      'broken.test.mjs: did not run: never',
      expect.stringContaining('broken.test.mjs: Error: no hook'),
      expect.stringMatching(/^absent.test.mjs: .*nowhere.mjs/),
      expect.stringContaining('empty.test.mjs: '),
    ]),
  );
});

test('an error that no test sees fails the run', FULL, async () => {
  const late = `import { test } from 'vitest'; test('passes', () => { void Promise.reject(new Error('unseen')); });`;
  const { tally } = await run({ late });
  expect(tally).toMatchObject({ passed: 1, failed: 1 });
  expect(tally.reasons[0]).toContain('unseen');
});

test('what is told of a file after its end does not begin it again', async () => {
  const late = { event: 'at', file: 'a', what: 'afterAll' };
  const [ended, over] = ENDS;
  const told = await hear(tells([{ event: 'begun', file: 'a' }, ended, late, over]));
  expect(told.tally).toMatchObject({ passed: 1, failed: 0, reasons: [] });
});
