import { expect } from 'vitest';
import { useSetupCases } from '../../support/setup-cases.ts';

/**
 * Promise: a setup runs once for its content, each run starts from its result, and it is deleted with the last version
 * that needs it.
 */
const { alone: test, mayfly: all, functions, deploy, remove } = useSetupCases();

test('a failed script is reported with its output; its runs are dead letters; the same deploy retries it once', async () => {
  const script = 'echo "no such package" >&2; exit 3';
  const failed = await deploy('fails', script);
  expect(failed).toMatchObject({
    status: 201,
    setup: {
      state: 'failed',
      failure: { code: 'setup_failed', message: expect.stringContaining('exit code 3') },
      log: 'no such package\n',
    },
  });
  expect(await all().onHost()).toEqual([]);
  expect(await all().residue()).toEqual([]);
  expect(await functions().run('fails')).toMatchObject({
    outcome: 'not-started',
    cleanup: 'none',
    attempts: [],
    failure: { code: 'setup_failed' },
  });
  expect(await deploy('fails', script)).toMatchObject({ status: 200, version: 1, setup: { state: 'failed' } });
  expect((await all().store.functionSetups.all()).filter(({ wish }) => wish.script === script)).toMatchObject([
    { tries: 2, failures: 1 },
  ]);
  await remove('fails');
});
