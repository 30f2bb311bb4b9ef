import { expect } from 'vitest';
import { deriveSetupKey, deriveSetupTry } from '../../model/functions/setup/setup.ts';
import { useSetupCases } from '../support/setup-cases.ts';

/**
 * Guards: a setup runs once for its content, each run starts from its result, and nothing outlives its last version.
 */
const { alone: test, mayfly: all, door, functions, deploy, remove } = useSetupCases();

const NONCE = 'head -c 16 /dev/urandom | od -An -tx1 | tr -d " \\n" > nonce; echo >> nonce';

test('a setup runs once; each run starts from its result, as a distinct machine (case 55); all is deleted with the function', async () => {
  const first = await deploy('once', NONCE);
  expect(first).toMatchObject({ status: 201, version: 1, setup: { state: 'ready', failure: null } });
  const runs = await Promise.all([1, 2, 3, 4].map((n) => functions().trigger('once', { n })));
  const lines = await Promise.all(
    runs.map(async ({ id }) => {
      expect(await functions().over({ id })).toMatchObject({ outcome: 'succeeded', cleanup: 'proved' });
      return (await functions().output(id)).trim().split('\n');
    }),
  );
  const [nonces, machines, random] = [0, 1, 2].map((n) => new Set(lines.map((line) => line[n])));
  expect([nonces?.size, machines?.size, random?.size]).toEqual([1, 4, 4]);
  expect(await deploy('once', NONCE)).toMatchObject({ status: 200, version: 1, setup: { state: 'ready' } });
  const [record] = await all().store.functionSetups.all();
  expect(record).toMatchObject({ tries: 1, state: 'ready' });
  const { key = '', seed = '', snapshotId } = record ?? {};
  expect(key).toBe(record && deriveSetupKey(record.wish));
  expect((await door().call('GET', `/v1/snapshots/${snapshotId}`)).status).toBe(404);
  expect((await door().call('DELETE', `/v1/snapshots/${snapshotId}`)).status).toBe(404);
  const { sandboxId } = deriveSetupTry({ seed }, 1);
  expect(await all().store.sandboxes.get(sandboxId)).toMatchObject({ state: 'destroyed', proof: expect.anything() });
  const listed = await (await door().call('GET', `/v1/sandboxes/${sandboxId}/snapshots`)).json();
  expect(listed).toMatchObject({ items: [] });
  await remove('once');
  expect(await deploy('once', NONCE)).toMatchObject({ status: 201, setup: { state: 'ready' } }); // again, with new names
  await remove('once');
});
