import { expect } from 'vitest';
import { deriveSetupTry, type SetupRecord } from '../../../model/functions/setup/setup.ts';
import { setupWorkflowId } from '../../../model/functions/setup/setup-saga.ts';
import { ensureSetup } from '../../../store/functions/setup/ensured-setup.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { SetupPoller } from '../../../worker/setups/setups.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { TestFunctions } from '../../support/functions.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { loseWorkflow } from '../../support/lose-workflow.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/**
 * Promise: after any death a setup is saved once, each try has its own sandbox, and failed or unneeded ones leave no
 * residue. Costs two minutes.
 */
const { alone: test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);

const SOURCE = 'golden-debian12';
const project = 'default';
let count = 0;

/**
 * Deploys a function with a setup, and returns the ids of its first try. @param arm faults of that try, armed before it
 */
async function begun(
  script: string,
  more: { timeoutSeconds?: number } = {},
  arm: (first: ReturnType<typeof deriveSetupTry>) => void = () => {},
) {
  const name = `setup-${++count}`;
  const setup = { source: SOURCE, script, timeoutSeconds: 600, ...more };
  const plain = {
    filesDigest: null,
    user: null,
    env: {},
    network: { egress: 'none' },
    cpus: null,
    memoryMib: null,
  } as const;
  const createdBy = { apiKeyId: 'test', agentId: null, project };
  const { key, seed } = await ensureSetup(all().store, createdBy, { ...plain, ...setup }, false);
  const first = deriveSetupTry({ seed }, 1);
  arm(first);
  await functions.deployAs(name, 'cat made', { source: undefined, setup });
  return { name, key, first };
}

const recordOf = (key: string) => all().store.functionSetups.get({ project, key });

function until(key: string, wish: (record: SetupRecord) => boolean): Promise<SetupRecord> {
  return eventually(
    () => recordOf(key),
    (found): found is SetupRecord => found !== null && wish(found),
  );
}

const upkeep = () => new SetupPoller(all().store, new ControlTemporalClient(all().client));
async function lookAtSetups(): Promise<void> {
  await upkeep().release();
  await upkeep().look();
}

/** Deletes the function, and waits until record, sandbox and snapshot of its setup are removed. */
async function gone(name: string, key: string): Promise<void> {
  expect(await functions.delete(name)).toBe(204);
  await eventually(
    async () => {
      await lookAtSetups();
      return { setup: await recordOf(key), saved: await all().onHost(), left: await all().residue() };
    },
    ({ setup, saved, left }) => setup === null && saved.length === 0 && left.length === 0,
  );
}

/** Waits for output of the script of a try. */
async function prints({ sandboxId, commandId }: ReturnType<typeof deriveSetupTry>): Promise<void> {
  await eventually(
    async () => (await all().store.commands.get(commandId)) && door.text({ sandboxId, id: commandId }),
    (text) => text?.includes('begun') ?? false,
  );
}

/** Asserts that a setup is ready after `tries` sandboxes, and saved once. */
async function isSavedOnce(name: string, key: string, tries: number): Promise<void> {
  expect(await until(key, ({ state }) => state !== 'preparing')).toMatchObject({ state: 'ready', tries });
  expect(await all().onHost()).toHaveLength(1);
  expect(await all().residue()).toEqual([]);
  const run = await functions.run(name);
  expect(run).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', attempts: [{ n: 1 }] });
  expect(await functions.output(run.id)).toBe('made\n');
}

test('a host worker that restarts during the script continues it', async ({ mayfly }) => {
  const { name, key, first } = await begun('echo begun; sleep 4; echo made >> made');
  await prints(first);
  await all().host?.stop();
  await mayfly.startHost();
  await isSavedOnce(name, key, 1);
  await gone(name, key);
});

test('a restart of both workers during the save leads to one snapshot', async ({ mayfly }) => {
  const { name, key, first } = await begun('echo made >> made', {}, ({ sandboxId }) =>
    mayfly.arm('saveSnapshot.during=1*delay(3000)', sandboxId),
  );
  await eventually(
    () => all().store.snapshots.get(first.diskSnapshotId),
    (found) => found !== null,
  );
  await all().host?.stop();
  await all().stopControl();
  mayfly.arm(undefined, first.sandboxId);
  await all().startControl();
  await mayfly.startHost();
  await isSavedOnce(name, key, 1);
  await gone(name, key);
});

test('a lost workflow restarts: its sandbox ends, and the script runs in another', async () => {
  const { name, key, first } = await begun('echo begun; [ -e made ] || echo made > made; sleep 2');
  await prints(first);
  await loseWorkflow(all().client, setupWorkflowId({ project, setupKey: key }));
  await lookAtSetups();
  await isSavedOnce(name, key, 2);
  expect(await all().store.sandboxes.get(first.sandboxId)).toMatchObject({
    state: 'destroyed',
    proof: expect.anything(),
  });
  await gone(name, key);
});

test.for(INTERVENTIONS)('an operator intervenes in its workflow: %s', async (kind, { mayfly }) => {
  const { name, key, first } = await begun(
    `echo begun; [ -e made ] || echo made > made; sleep ${kind === 'terminate' || kind.startsWith('cancel') ? 1000 : 2}`,
  );
  await prints(first);
  await intervene(mayfly.client, setupWorkflowId({ project, setupKey: key }), kind);
  if (kind === 'terminate') await lookAtSetups();
  if (kind.startsWith('reset')) await isSavedOnce(name, key, 2);
  else {
    const failure = { code: 'workflow_cancelled' };
    expect(await until(key, ({ state }) => state !== 'preparing')).toMatchObject({ state: 'failed', failure });
  }
  expect(await mayfly.record(first.sandboxId)).toMatchObject({ state: 'destroyed', proof: expect.anything() });
  await gone(name, key);
});

test('a machine that dies during its script is replaced by another', async () => {
  const { name, key, first } = await begun('echo begun; echo made > made; sleep 3');
  await prints(first);
  await all().destroy({ ...all().input(), id: first.sandboxId });
  await isSavedOnce(name, key, 2);
  await gone(name, key);
});

test('a script that takes too long is stopped, and reported', async () => {
  const { name, key } = await begun('echo begun; sleep 1000', { timeoutSeconds: 1 });
  expect(await until(key, ({ state }) => state !== 'preparing')).toMatchObject({
    state: 'failed',
    failure: { code: 'setup_failed', message: expect.stringContaining('1 s') },
    log: 'begun\n',
  });
  expect(await all().onHost()).toEqual([]);
  expect(await all().residue()).toEqual([]);
  await functions.deployAs(name, 'cat made', {
    source: undefined,
    setup: { source: SOURCE, script: 'echo begun; sleep 1000', timeoutSeconds: 2 },
  });
  expect(await until(key, ({ state }) => state !== 'preparing')).toMatchObject({
    tries: 2,
    failure: { message: expect.stringContaining('2 s') },
  });
  await gone(name, key);
});

test('a function that is deleted during its script leaves no residue', async () => {
  const { name, key, first } = await begun('echo begun; sleep 1000');
  await prints(first);
  await gone(name, key);
  expect(await all().store.sandboxes.get(first.sandboxId)).toMatchObject({ state: 'destroyed' });
});

test('failures outside the script are retried, and a lack of capacity without limit', async ({ mayfly }) => {
  const { name, key } = await begun('echo made > made', {}, ({ sandboxId }) =>
    mayfly.arm('reserve.after=error(capacity_exhausted)', sandboxId),
  );
  const run = await functions.trigger(name);
  await functions.until(run.id, ({ waitingFor }) => waitingFor === 'setup');
  expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded' });
  expect(await recordOf(key)).toMatchObject({ state: 'ready', tries: 2, failures: 0 });
  await gone(name, key);
});

test('another script is another setup; functions with the same script share one; each is deleted after its last use', async () => {
  const one = await begun('echo made > made');
  await isSavedOnce(one.name, one.key, 1);
  const other = await begun('echo made > made; true');
  await until(other.key, ({ state }) => state === 'ready');
  const third = await begun('echo made > made');
  expect(third.key).toBe(one.key);
  expect(await all().onHost()).toHaveLength(2);
  expect(await functions.delete(one.name)).toBe(204);
  await lookAtSetups();
  expect(await recordOf(one.key)).toMatchObject({ state: 'ready', tries: 1 });
  expect(await functions.delete(other.name)).toBe(204);
  await gone(third.name, third.key);
  await eventually(async () => {
    await lookAtSetups();
    return recordOf(other.key);
  }, null);
});

test("a deploy during the end of the removed setup's workflow is prepared at once", async () => {
  const { name, key } = await begun('echo made > made');
  await isSavedOnce(name, key, 1);
  all().failpoints.arm('forgetSetup.after=1*delay(5000)');
  expect(await functions.delete(name)).toBe(204);
  await lookAtSetups();
  await eventually(() => recordOf(key), null);
  const again = await begun('echo made > made'); // without further polls from here on
  await isSavedOnce(again.name, again.key, 1);
  all().failpoints.arm(undefined);
  await gone(again.name, again.key);
});

test('a ready setup whose snapshot is lost is prepared again for the next run', async () => {
  const { name, key } = await begun('echo made > made');
  const { snapshotId } = await until(key, ({ state }) => state === 'ready');
  const saved = await all().store.snapshots.get(snapshotId ?? '');
  if (!saved) throw new Error('there is no such snapshot');
  const { hostId, installationId } = saved;
  const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
  await new ControlTemporalClient(all().client).snapshots.delete({
    snapshotId: snapshotId ?? '',
    hostId,
    installationId,
    actor,
  });
  await eventually(() => all().store.snapshots.get(snapshotId ?? ''), { state: 'deleted' });
  expect(await functions.run(name)).toMatchObject({ outcome: 'succeeded', attempts: [{ n: 1 }] });
  expect(await recordOf(key)).toMatchObject({ state: 'ready', tries: 2 });
  await gone(name, key);
});

test('a setup gets no secret of its function', async () => {
  const value = 'canary-5d41402abc4b2a76';
  expect((await door.call('PUT', '/v1/secrets/token', { value })).status).toBeLessThan(300);
  const script = 'env > made; ls /run/mayfly-secrets >> made 2>&1; true';
  const wish = { source: undefined, setup: { source: SOURCE, script }, secrets: [{ name: 'token', env: 'TOKEN' }] };
  await functions.deployAs('with-secret', 'grep -c canary made; printenv TOKEN | wc -c', wish);
  const run = await functions.run('with-secret');
  expect(await functions.output(run.id)).toBe(`0\n${value.length + 1}\n`);
  const [found] = await all().store.functionSetups.all();
  await gone('with-secret', found?.key ?? '');
});
