import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VitestRun } from '../../scripts/test/vitest-run.mjs';
import { repository } from '../../worker/config/artifacts.mjs';
import { FULL } from '../support/sweep.ts';

const PLAIN = `import { test } from 'vitest'; test('runs', () => {});`;
const CONFIG = `export default { test: { fileParallelism: false, tags: [{ name: 'sweep' }, { name: 'full' }] } };`;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runs-'));
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'vitest.config.mjs'), CONFIG);
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs these files, each `name: text`, one after another in the order of their names. */
async function run(files: Record<string, string>, silenceMs = 120_000): Promise<VitestRun> {
  const names = Object.keys(files);
  for (const name of names) await writeFile(join(folder, `${name}.test.mjs`), files[name] ?? '');
  const place = {
    name: 'none',
    root: folder,
    tmp: folder,
    inside: (argv: readonly string[]) => [...argv],
    endAll: () => {},
  };
  const own = ['--root', folder, '--config', join(folder, 'vitest.config.mjs')];
  const made = new VitestRun({
    place,
    args: [...own, ...names.map((name) => `${name}.test.mjs`)],
    env: { MAYFLY_TEST_TIER: 'quick', MAYFLY_TEST_FILTERED: '0' }, // and not what this test itself runs in
    shown: false,
    signal: new AbortController().signal,
    onFile: () => {},
    silenceMs,
  });
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

// Costs 8 s.
test('a long test has its time also when nobody hears that it has begun', FULL, async () => {
  const blocks = `import { beforeAll, test } from 'vitest';
    beforeAll(() => new Promise((resolve) => setTimeout(resolve, 200)));
    test('blocks', async () => {
      await new Promise(setImmediate);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_000);
    }, 60_000);`;
  const { tally } = await run({ blocks }, 3_000);
  expect(tally).toMatchObject({ passed: 1, failed: 0 });
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
  const events = [
    { event: 'begun', file: 'a' },
    { event: 'ended', file: 'a', tests: [{ name: 'x', outcome: 'passed', seconds: 0, why: '' }], errors: [] },
    { event: 'at', file: 'a', what: 'afterAll' },
    { event: 'over', errors: [] },
  ];
  const script = events.map((event) => `fs.writeSync(3, ${JSON.stringify(`${JSON.stringify(event)}\n`)});`).join('');
  const inside = () => [process.execPath, '-e', script];
  const place = { name: 'none', root: folder, tmp: folder, inside, endAll: () => {} };
  const signal = new AbortController().signal;
  const told = new VitestRun({ place, args: [], env: {}, shown: false, signal, onFile: () => {} });
  await told.run();
  expect(told.tally).toMatchObject({ passed: 1, failed: 0, reasons: [] });
});
