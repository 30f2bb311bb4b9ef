import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createForgettingActivities } from '../../activities/reconcile/forgetting.ts';
import type { ImageRecord } from '../../model/image/image-record.ts';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { Store } from '../../store/connect.ts';
import { record, sandboxId } from '../store/support.ts';
import { openStore } from '../support/open-store.ts';
import { type StoreServer, startStoreServer } from '../support/store-server.ts';

/** Promise: what ends just when its host is forgotten stays what it is. Costs 2 s. */
const HOST = 'host-1';
const at = new Date(0).toISOString();
const actor = { apiKeyId: '0123456789ab', agentId: null };
const since = { project: 'default', waitingFor: null, failure: null, createdBy: actor, createdAt: at, updatedAt: at };
const playbook: PlaybookRecord = {
  ...since,
  id: 'pbk-0123456789abcdef',
  sandboxId: sandboxId(1),
  state: 'checking',
  base: { source: 'golden-debian12', snapshotId: null },
  checkerId: sandboxId(1),
  written: null,
  check: null,
  unchecked: null,
  endedAt: null,
};
const request = { dockerfile: 'FROM golden', args: {}, target: null, aliases: {}, context: null };
const image: ImageRecord = {
  ...since,
  id: 'img-0000000000000001',
  name: 'web',
  state: 'finishing',
  request: { ...request, network: { egress: 'none' } },
  source: 'golden',
  content: 'c',
  builderId: sandboxId(1),
  steps: 1,
  cached: 0,
  done: 1,
  snapshotId: null,
  readyAt: null,
};

let server: StoreServer;
let store: Store;
beforeAll(async () => {
  server = await startStoreServer();
  store = await openStore(server.uri);
});
afterAll(async () => {
  await store?.close();
  await server?.stop();
});

test('a playbook and a build that end while their host is forgotten are not said to have failed', async () => {
  await store.sandboxes.create(record(1, { hostId: HOST }));
  await store.playbooks.create(playbook);
  await store.images.create(image);
  const terminate = async (workflowId: string) => {
    if (workflowId.startsWith('playbook')) await store.playbooks.update(playbook.id, { state: 'checked', endedAt: at });
    if (workflowId.startsWith('image')) await store.images.update(image.id, { state: 'ready', readyAt: at });
  };
  const reconciliation = { terminate } as unknown as Parameters<typeof createForgettingActivities>[0]['reconciliation'];
  const activities = createForgettingActivities({ store, reconciliation });
  const context = { heartbeat: () => {} } as unknown as Context;
  await asyncLocalStorage.run(context, () => activities.forgetThingsOn({ hostId: HOST, actor, at }));
  expect(await store.playbooks.get(playbook.id)).toMatchObject({ state: 'checked', failure: null });
  expect(await store.images.get(image.id)).toMatchObject({ state: 'ready', failure: null });
});
