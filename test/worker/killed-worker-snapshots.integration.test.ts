import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { entriesOf } from '../../host/directory.ts';
import { StateDir } from '../../host/state-dir.ts';
import type { SandboxRecord } from '../../model/sandbox.ts';
import { ServedMayfly } from '../support/served.ts';

/** Where the host worker kills itself, once. */
const WHERE = ['before', 'during', 'after'] as const;
const WAIT = { waitSeconds: 120 };

let mayfly: ServedMayfly;
let sandbox: SandboxRecord;

beforeAll(async () => {
  mayfly = await ServedMayfly.start({ MAYFLY_HOST: 'simulated' });
  sandbox = await mayfly.client.createSandbox({ source: 'golden-debian12', memoryMib: 64, ttlSeconds: 7_200 }, WAIT);
}, 120_000);
afterAll(async () => {
  if (mayfly?.host && sandbox) await mayfly.client.destroySandbox(sandbox.id, WAIT);
  await mayfly?.stop();
}, 120_000);
/** Nothing but what is told as ready is there, and then nothing at all. */
afterEach(async () => {
  const { items } = await mayfly.client.snapshots.list(sandbox.id);
  const ready = items.filter(({ state }) => state === 'ready');
  expect((await onHost()).sort()).toEqual(ready.map(({ id }) => id).sort());
  for (const { id } of ready)
    expect(await mayfly.client.snapshots.delete(id, WAIT)).toMatchObject({ state: 'deleted' });
  expect(await onHost()).toEqual([]);
}, 120_000);

async function onHost(): Promise<string[]> {
  return (await entriesOf(new StateDir(`${mayfly.state.root}/host`).snapshots)) ?? [];
}

async function sh(command: string): Promise<string> {
  const ended = await mayfly.client.commands.run(sandbox.id, { command }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  return text(await mayfly.client.commands.output(sandbox.id, ended.id, 'stdout'));
}

it.each(['saveSnapshot', 'verifySnapshot'].flatMap((step) => WHERE.map((where) => [step, where])))(
  'a worker killed in %s (%s its effect) leaves a whole snapshot and a guest that is not frozen',
  async (step, where) => {
    await sh('printf old > ~/note');
    const take = () => mayfly.client.snapshots.take(sandbox.id, {}, WAIT);
    const snapshot = await mayfly.whileHostDiesAt([`${step}.${where}`], take);
    expect(snapshot).toMatchObject({ state: 'ready', failure: null });
    expect(await sh('printf new > ~/note; cat ~/note')).toBe('new');
    const { sandbox: restored } = await mayfly.client.snapshots.restore(
      sandbox.id,
      { snapshotId: snapshot.id, keepCurrent: false },
      WAIT,
    );
    expect(restored).toMatchObject({ state: 'running', failure: null });
    expect(await sh('cat ~/note')).toBe('old');
  },
  240_000,
);

it.each(['revertDisk', 'removeDomain', 'bootDomain'].flatMap((step) => WHERE.map((where) => [step, where])))(
  'a worker killed in %s of a restore (%s its effect) keeps nothing from it',
  async (step, where) => {
    await sh('printf old > ~/note');
    const { id: snapshotId } = await mayfly.client.snapshots.take(sandbox.id, {}, WAIT);
    await sh('printf new > ~/note');
    const restore = () => mayfly.client.snapshots.restore(sandbox.id, { snapshotId }, WAIT);
    const { keptAs, sandbox: restored } = await mayfly.whileHostDiesAt([`${step}.${where}`], restore);
    expect(restored).toMatchObject({ state: 'running', parentSnapshotId: snapshotId, waitingFor: null });
    expect(keptAs).not.toBeNull();
    expect(await sh('cat ~/note')).toBe('old');
  },
  240_000,
);

it.each(WHERE)(
  'a worker killed while it removes a snapshot (%s its effect) leaves nothing of it',
  async (where) => {
    const { id } = await mayfly.client.snapshots.take(sandbox.id, {}, WAIT);
    const remove = () => mayfly.client.snapshots.delete(id, WAIT);
    expect(await mayfly.whileHostDiesAt([`removeSnapshot.${where}`], remove)).toMatchObject({
      state: 'deleted',
      keptFor: null,
    });
    expect(await onHost()).toEqual([]);
  },
  240_000,
);
