import { execFile } from 'node:child_process';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parseRequestFile } from '../../../model/waitpoints/asked-files.ts';
import { MAYFLY_WAIT } from '../../../model/waitpoints/mayfly-wait.ts';
import { useFreshFolder } from '../../support/use-folder.ts';

/** Guards: the program needs only a shell, and never requests anything that the host would refuse. Costs a second. */
const folder = useFreshFolder();
beforeEach(async () => {
  await writeFile(join(folder, 'program'), MAYFLY_WAIT);
  await chmod(join(folder, 'program'), 0o755);
});

function wait(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], MAYFLY_WAITPOINTS: folder };
  return new Promise((resolve) => {
    execFile(join(folder, 'program'), args, { env }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

const WRONG = [
  ['Upper'],
  ['../up'],
  ['a.b'],
  ['*'],
  ['-'],
  ['a'.repeat(64)],
  ['ok', 'more'],
  ['--other'],
  ['--timeout'],
  ...['0', '01', '-1', '1x', '', '2592001', '99999999999999999999'].map((seconds) => ['ok', '--timeout', seconds]),
];

test.for(WRONG)('wrong arguments print the usage, and request nothing: %s %s %s', async (args) => {
  const { code, stderr } = await wait(...args);
  expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringContaining('usage: mayfly-wait') });
  expect(await readdir(folder)).toEqual(['program']);
});

test('existing data is printed at once, without a request', async () => {
  await writeFile(join(folder, 'a1-b.data'), '{"x":1}\n');
  expect(await wait('a1-b', '--timeout=30')).toMatchObject({ code: 0, stdout: '{"x":1}\n' });
  expect((await readdir(folder)).toSorted()).toEqual(['a1-b.data', 'program']);
});

test('the host can parse its request', async () => {
  const asking = wait('--timeout', '2592000');
  for (let names: string[] = []; !names.includes('default.ask-2592000'); ) names = await readdir(folder);
  await writeFile(join(folder, 'default.expired'), '');
  expect(await asking).toMatchObject({ code: 75, stdout: '' });
  expect(parseRequestFile('default.ask-2592000')).toEqual({ name: 'default', timeoutSeconds: 2_592_000 });
  for (const other of [
    'default.ask-2592001',
    'default.ask-0',
    'A.ask-1',
    '-a.ask-1',
    'a.data',
    'a.ask-1\n',
    '.ask-1',
  ]) {
    expect(parseRequestFile(other)).toBeNull();
  }
});
