import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VitestRun } from '../../../scripts/test/vitest-run.mjs';
import { repository } from '../../../worker/config/artifacts.mjs';

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
  { event: 'ended', file: 'a', tests: [{ title: 'x', outcome: 'passed', error: '' }], errors: [] },
  { event: 'over', errors: [] },
];
/** And not what this test itself runs in. */
const QUICK = { MAYFLY_TEST_TIER: 'quick', MAYFLY_TEST_FILTERED: '0' };

/** JavaScript that tells these events, in one piece. */
function tells(events: readonly unknown[]): string {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  return `fs.writeSync(3, ${JSON.stringify(lines)});`;
}

/** Runs a program in the place of vitest. */
function hear(script: string): Promise<VitestRun> {
  return end(() => [process.execPath, '-e', script], []);
}

async function write(files: Record<string, string>): Promise<string[]> {
  const names = Object.keys(files);
  for (const name of names) await writeFile(join(folder, `${name}.test.mjs`), files[name] ?? '');
  return names.map((name) => `${name}.test.mjs`);
}

/** Runs these files, each `name: text`, one after another in the order of their names. */
async function run(files: Record<string, string>, fileMs = 120_000): Promise<VitestRun> {
  return end((argv) => [...argv], [...own, ...(await write(files))], fileMs);
}

async function end(inside: (argv: readonly string[]) => string[], args: string[], fileMs = 120_000) {
  const place = { name: 'none', root: folder, tmp: folder, inside, endAll: () => {}, cgroup: { seconds: () => 0 } };
  const { signal } = new AbortController();
  const made = new VitestRun({ place, args, env: QUICK, isShown: false, signal, onFile: () => {}, fileMs });
  await made.run();
  return made;
}

test('a file that hangs is named, ended and counted once; one that never began is left to be run', async () => {
  const hangs = `import { test } from 'vitest'; test('waits', () => new Promise(() => {}), 0);`;
  const made = await run({ hangs }, 3_000);
  expect([made.isAccounted('hangs.test.mjs'), made.isAccounted('other.test.mjs')]).toEqual([true, false]);
  expect(made.tally).toMatchObject({ passed: 0, failed: 1 });
  expect(made.tally.failures[0]).toEqual({
    file: 'hangs.test.mjs',
    title: '',
    error: expect.stringMatching(/^hung or died in .*: it took longer than 3 s$/),
  });
});

test('a vitest that dies is a failure of the file that it was in', async () => {
  const dies = `import { test } from 'vitest'; test('kills', async () => {
    process.kill(process.ppid, 'SIGKILL'); await new Promise((resolve) => setTimeout(resolve, 60_000)); });`;
  const { tally } = await run({ dies });
  expect(tally).toMatchObject({ passed: 0, failed: 1 });
  expect(tally.failures[0]).toMatchObject({
    file: 'dies.test.mjs',
    error: expect.stringMatching(/^hung or died in .*: vitest ended with SIGKILL$/),
  });
});

test('passed, failed, skipped and left out are told apart', async () => {
  const { tally } = await run({
    plain: PLAIN,
    mixed: `import { expect, test } from 'vitest';
      test('passes', () => {}); test('fails', () => expect(1).toBe(2)); test.skip('is skipped', () => {});
      test.skip('is a point', { tags: ['sweep'] }, () => {});`,
    broken: `import { beforeAll, test } from 'vitest'; beforeAll(() => { throw new Error('no hook'); }); test('never', () => {});`,
    absent: `import '../../scripts/nowhere.mjs';`,
    empty: ``,
  });
  expect(tally.passed).toBe(2);
  expect(tally.files.get('mixed.test.mjs')).toMatchObject({ left: 1 });
  const failed = tally.failures.map(({ file, title, error }) => [file, title, error.split('\n')[0]]);
  expect(failed).toEqual(
    expect.arrayContaining([
      ['mixed.test.mjs', 'fails', 'expected 1 to be 2 // Object.is equality'],
      ['mixed.test.mjs', 'is skipped', 'it did not run'],
      ['broken.test.mjs', 'never', 'it did not run'],
      ['broken.test.mjs', '', expect.stringContaining('Error: no hook')],
      ['absent.test.mjs', '', expect.stringContaining('nowhere.mjs')],
      ['empty.test.mjs', '', expect.any(String)],
    ]),
  );
});

test('an error that no test sees fails the run', async () => {
  const late = `import { test } from 'vitest'; test('passes', () => { void Promise.reject(new Error('unseen')); });`;
  const { tally } = await run({ late });
  expect(tally).toMatchObject({ passed: 1, failed: 1 });
  expect(tally.failures[0]?.error).toContain('unseen');
});

test('what is told of a file after its end does not begin it again', async () => {
  const late = { event: 'at', file: 'a', what: 'afterAll' };
  const [ended, over] = ENDS;
  const told = await hear(tells([{ event: 'begun', file: 'a' }, ended, late, over]));
  expect(told.tally).toMatchObject({ passed: 1, failed: 0, failures: [] });
});
