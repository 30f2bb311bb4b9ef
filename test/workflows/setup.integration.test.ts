import { pino } from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { setupKeyOf, setupTry } from '../../model/functions/setup/setup.ts';
import { setupWorkflowIdOf } from '../../model/functions/setup/setup-saga.ts';
import { Reconciliation } from '../../sagas/reconciliation.ts';
import { Setups } from '../../worker/setups/setups.ts';
import { TestDoor } from '../support/door.ts';
import { eventually } from '../support/eventually.ts';
import { TestFunctions } from '../support/functions.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { FULL } from '../support/sweep.ts';

/** Promise: a setup is done once for its content, each run begins with what it has left, and nothing outlives the last version that needs it. */
const { alone: test, mayfly: all } = useSagaCases();
let door: TestDoor;
let functions: TestFunctions;
beforeAll(async () => {
  door = await TestDoor.open(all());
  functions = new TestFunctions(door);
});
afterAll(() => door.close());

const SOURCE = 'golden-debian12';

/** What is deployed under a name, when its setup is over. */
async function deployed(name: string, script: string, more: object = {}) {
  const wish = {
    setup: { source: SOURCE, script, ...more },
    command: 'cat nonce; cat /etc/machine-id; head -c 8 /dev/urandom | od -An -tx8',
  };
  const response = await door.call('PUT', `/v1/functions/${name}`, wish, { Prefer: 'wait=120' });
  const body = (await response.json()) as { version: number; setup: { state: string; log: string | null } };
  return { status: response.status, ...body };
}

const upkeep = () => new Setups(all().store, new Reconciliation(all().client), pino({ level: 'silent' }));
async function lookAtSetups(): Promise<void> {
  await upkeep().release();
  await upkeep().look();
}

/** The function goes, and with it what was saved for it. */
async function gone(name: string): Promise<void> {
  expect(await functions.delete(name)).toBe(204);
  await eventually(
    async () => {
      await lookAtSetups();
      return { setups: await all().store.functionSetups.all(), saved: await all().onHost() };
    },
    ({ setups, saved }) => setups.length === 0 && saved.length === 0,
  );
}

const NONCE = 'head -c 16 /dev/urandom | od -An -tx1 | tr -d " \\n" > nonce; echo >> nonce';

test('a setup runs once; each run begins with what it has left, as a machine of its own; all goes with the function', async () => {
  const first = await deployed('once', NONCE);
  expect(first).toMatchObject({ status: 201, version: 1, setup: { state: 'ready', failure: null } });
  const runs = await Promise.all([1, 2, 3, 4].map((n) => functions.trigger('once', { n })));
  const lines = await Promise.all(
    runs.map(async ({ id }) => {
      expect(await functions.over({ id })).toMatchObject({ outcome: 'succeeded', cleanup: 'proved' });
      return (await functions.output(id)).trim().split('\n');
    }),
  );
  const [nonces, machines, random] = [0, 1, 2].map((n) => new Set(lines.map((line) => line[n])));
  expect([nonces?.size, machines?.size, random?.size]).toEqual([1, 4, 4]);
  expect(await deployed('once', NONCE)).toMatchObject({ status: 200, version: 1, setup: { state: 'ready' } });
  const [record] = await all().store.functionSetups.all();
  expect(record).toMatchObject({ tries: 1, state: 'ready' });
  const { key = '', seed = '', project = '', snapshotId } = record ?? {};
  expect(key).toBe(record && setupKeyOf(record.wish));
  expect((await door.call('GET', `/v1/snapshots/${snapshotId}`)).status).toBe(404);
  expect((await door.call('DELETE', `/v1/snapshots/${snapshotId}`)).status).toBe(404);
  const { sandboxId } = setupTry({ seed }, 1);
  expect(await all().store.sandboxes.get(sandboxId)).toMatchObject({ state: 'destroyed', proof: expect.anything() });
  const listed = await (await door.call('GET', `/v1/sandboxes/${sandboxId}/snapshots`)).json();
  expect(listed).toMatchObject({ items: [] });
  await all().keepHistory('setup', '', setupWorkflowIdOf({ project, setupKey: key }));
  await gone('once');
  expect(await deployed('once', NONCE)).toMatchObject({ status: 201, setup: { state: 'ready' } }); // anew, by other names
  await gone('once');
});

test(
  'a script that fails is told with what it printed; its runs are dead letters; the same again is tried once more',
  FULL,
  async () => {
    const script = 'echo "no such package" >&2; exit 3';
    const failed = await deployed('fails', script);
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
    expect(await functions.run('fails')).toMatchObject({
      outcome: 'not-started',
      cleanup: 'none',
      attempts: [],
      failure: { code: 'setup_failed' },
    });
    expect(await deployed('fails', script)).toMatchObject({ status: 200, version: 1, setup: { state: 'failed' } });
    expect((await all().store.functionSetups.all()).filter(({ wish }) => wish.script === script)).toMatchObject([
      { tries: 2, failures: 1 },
    ]);
    await gone('fails');
  },
);
