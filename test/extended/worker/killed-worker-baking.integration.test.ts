import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from 'vitest';
import { entriesOf } from '../../../host/os/directory.ts';
import { StateDir } from '../../../host/state-dir.ts';
import { ServedMayfly } from '../../support/served.ts';
import { sweep } from '../../support/sweep.ts';

const WAIT = { waitSeconds: 120 };
const GOLDEN = 'golden-debian12';

let mayfly: ServedMayfly;
let fromSnapshot: string;

beforeAll(async () => {
  mayfly = await ServedMayfly.start({ MAYFLY_HOST: 'simulated' });
  const { id } = await mayfly.client.createSandbox({ source: GOLDEN, memoryMib: 64 }, WAIT);
  await mayfly.client.commands.run(id, { command: 'printf kept > ~/note' }, WAIT);
  ({ id: fromSnapshot } = await mayfly.client.snapshots.take(id, {}, WAIT));
  await mayfly.client.destroySandbox(id, WAIT);
});
afterAll(async () => {
  if (mayfly?.host && fromSnapshot) await mayfly.client.snapshots.delete(fromSnapshot, WAIT);
  await mayfly?.stop();
});

async function images(): Promise<string[]> {
  return (await entriesOf(new StateDir(`${mayfly.state.root}/host`).images)) ?? [];
}

/** Where the host worker kills itself while it bakes a source, and then while it removes that. */
const POINTS = [
  { baking: ['flattenDisks.during'], removing: [] },
  { baking: ['shutDownGuest.after'], removing: [] },
  { baking: ['flattenDisks.after'], removing: [] },
  { baking: ['publishSource.after'], removing: [] },
  { baking: [], removing: ['removeSource.during'] },
  { baking: [], removing: ['removeSource.after'] },
  {
    baking: ['shutDownGuest.after', 'flattenDisks.during', 'flattenDisks.after', 'publishSource.after'],
    removing: ['removeSource.during', 'removeSource.after'],
  },
];

function whileHostDiesAt<T>(points: readonly string[], act: () => Promise<T>): Promise<T> {
  return points.length === 0 ? act() : mayfly.whileHostDiesAt(points, act);
}

sweep(POINTS)('workers killed at %s leave a whole source, and then nothing', async (point) => {
  const { client } = mayfly;
  const name = `with-note-${POINTS.indexOf(point)}`;
  const bake = () => client.sources.bake({ name, fromSnapshot }, WAIT);
  const baked = await whileHostDiesAt(point.baking, bake);
  expect(baked).toMatchObject({ state: 'ready', failure: null, waitingFor: null });
  expect((await images()).sort()).toEqual([GOLDEN, name]);
  expect(await client.getSandbox(baked.builderId)).toMatchObject({ state: 'destroyed' });

  const clone = await client.createSandbox({ source: name, memoryMib: 64 }, WAIT);
  const { id } = await client.commands.run(clone.id, { command: 'cat ~/note' }, WAIT);
  expect(await text(await client.commands.output(clone.id, id, 'stdout'))).toBe('kept');
  await client.destroySandbox(clone.id, WAIT);

  const remove = () => client.sources.delete(name, WAIT);
  const gone = await whileHostDiesAt(point.removing, remove);
  expect(gone).toMatchObject({ state: 'deleted', failure: null });
  expect(await images()).toEqual([GOLDEN]);
});
