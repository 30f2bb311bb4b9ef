import { afterEach, expect, inject, test } from 'vitest';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { eventually } from '../../support/eventually.ts';
import { MayflyProcess } from '../../support/mayfly-process.ts';
import { startStoreServer } from '../../support/store-server.ts';
import { ownServersEnv, withUp } from '../../support/with-up.ts';

const closers = new Closers();
afterEach(() => closers.close());

// Promise: sandboxes of `mayfly up` continue with another store and Temporal (docs/deploy.md).
test('a store is copied, and its sandboxes are adopted', async () => {
  const { state, remove } = await temporaryState();
  closers.add('state folder', remove);
  const server = await startStoreServer();
  closers.add('store server', () => server.stop());
  const own = ownServersEnv(state.root, 'simulated');
  const others = { ...own, MONGODB_URI: server.uri, TEMPORAL_ADDRESS: inject('temporalAddress') };

  async function copy() {
    const process = new MayflyProcess(['store', 'copy'], others);
    return [await process.end(), process.output];
  }

  const { id, snapshot } = await withUp(own, async (client) => {
    const { id } = await client.createSandbox({ source: 'golden-debian12', metadata: { n: '1' } }, { waitSeconds: 60 });
    return { id, snapshot: await client.snapshots.take(id, {}, { waitSeconds: 60 }) };
  });
  expect(await copy()).toEqual([0, expect.stringMatching(/^\d+ documents are copied$/)]);
  expect(await copy()).toEqual([5, expect.stringContaining('is not empty')]);
  await withUp(others, async (client) => {
    expect(await client.snapshots.get(snapshot.id)).toMatchObject({ state: 'ready', sandboxId: id });
    const kinds = async () => (await client.sandboxAudit(id)).items.map(({ body }) => body).join();
    await eventually(kinds, (told) => told.includes('"sandbox.taken-over"'));
    const ended = await client.destroySandbox(id, { waitSeconds: 60 });
    expect(ended).toMatchObject({ state: 'destroyed', spec: { metadata: { n: '1' } } });
    expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
    await client.snapshots.delete(snapshot.id, { waitSeconds: 60 });
  });
});
