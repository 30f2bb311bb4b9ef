import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import { entriesOf } from '../../../host/os/directory.ts';
import { StateDir } from '../../../host/state-dir.ts';
import { ServedMayfly } from '../../support/served.ts';
import { sweep } from '../../support/sweep.ts';

/** In which step of what the host worker kills itself, once: before, in the middle of, or after its effect. */
const POINTS = (
  [
    ['restore', 'revertDisk'],
    ['restore', 'removeDomain'],
    ['restore', 'bootDomain'],
    ['snapshot', 'saveSnapshot'],
    ['snapshot', 'verifySnapshot'],
    ['removal', 'removeSnapshot'],
  ] as const
).flatMap(([operation, step]) =>
  (['during', 'before', 'after'] as const).map((where) => [operation, step, where] as const),
);
const WAIT = { waitSeconds: 120 };

let mayfly: ServedMayfly;
let sandbox: Sandbox;

beforeAll(async () => {
  mayfly = await ServedMayfly.start({ MAYFLY_HOST: 'simulated' });
  sandbox = await mayfly.client.createSandbox({ source: 'golden-debian12', memoryMib: 64, ttlSeconds: 7_200 }, WAIT);
});
afterAll(async () => {
  if (mayfly?.host && sandbox) await mayfly.client.destroySandbox(sandbox.id, WAIT);
  await mayfly?.stop();
});
/** Nothing but what is told as ready is there, and then nothing at all. */
afterEach(async () => {
  const { items } = await mayfly.client.snapshots.list(sandbox.id);
  const ready = items.filter(({ state }) => state === 'ready');
  expect((await onHost()).sort()).toEqual(ready.map(({ id }) => id).sort());
  for (const { id } of ready)
    expect(await mayfly.client.snapshots.delete(id, WAIT)).toMatchObject({ state: 'deleted' });
  expect(await onHost()).toEqual([]);
});

async function onHost(): Promise<string[]> {
  return (await entriesOf(new StateDir(`${mayfly.state.root}/host`).snapshots)) ?? [];
}

async function sh(command: string): Promise<string> {
  const ended = await mayfly.client.commands.run(sandbox.id, { command }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  return text(await mayfly.client.commands.output(sandbox.id, ended.id, 'stdout'));
}

/** A whole snapshot is left, and a guest that is not frozen. */
async function snapshotWhileKilledAt(point: string): Promise<void> {
  await sh('printf old > ~/note');
  const take = () => mayfly.client.snapshots.take(sandbox.id, {}, WAIT);
  const snapshot = await mayfly.whileHostDiesAt([point], take);
  expect(snapshot).toMatchObject({ state: 'ready', failure: null });
  expect(await sh('printf new > ~/note; cat ~/note')).toBe('new');
  const { sandbox: restored } = await mayfly.client.snapshots.restore(
    sandbox.id,
    { snapshotId: snapshot.id, keepCurrent: false },
    WAIT,
  );
  expect(restored).toMatchObject({ state: 'running', failure: null });
  expect(await sh('cat ~/note')).toBe('old');
}

/** The sandbox runs from the snapshot, and nothing of what was killed is kept. */
async function restoreWhileKilledAt(point: string): Promise<void> {
  await sh('printf old > ~/note');
  const { id: snapshotId } = await mayfly.client.snapshots.take(sandbox.id, {}, WAIT);
  await sh('printf new > ~/note');
  const restore = () => mayfly.client.snapshots.restore(sandbox.id, { snapshotId }, WAIT);
  const { keptAs, sandbox: restored } = await mayfly.whileHostDiesAt([point], restore);
  expect(restored).toMatchObject({ state: 'running', parentSnapshotId: snapshotId, waitingFor: null });
  expect(keptAs).not.toBeNull();
  expect(await sh('cat ~/note')).toBe('old');
}

/** Nothing of the snapshot is left. */
async function removalWhileKilledAt(point: string): Promise<void> {
  const { id } = await mayfly.client.snapshots.take(sandbox.id, {}, WAIT);
  const remove = () => mayfly.client.snapshots.delete(id, WAIT);
  expect(await mayfly.whileHostDiesAt([point], remove)).toMatchObject({ state: 'deleted', keptFor: null });
  expect(await onHost()).toEqual([]);
}

const operations = { snapshot: snapshotWhileKilledAt, restore: restoreWhileKilledAt, removal: removalWhileKilledAt };

sweep(POINTS)(
  'a %s whose worker is killed in %s (%s its effect) is whole in the end, and nothing else is left',
  async ([operation, step, where]) => operations[operation](`${step}.${where}`),
);
