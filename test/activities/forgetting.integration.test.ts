import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { expect, test } from 'vitest';
import { createDecommissionActivities } from '../../activities/reconcile/forgetting.ts';
import type { Store } from '../../store/connect.ts';
import { imageRecord, playbookRecord, record, sandboxId } from '../store/support.ts';
import { useStore } from '../support/use-store.ts';

/** Guards: a playbook or build that ends while its host is decommissioned keeps its outcome. Costs 2 s. */
const HOST = 'host-1';
const at = new Date(0).toISOString();
const actor = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };
const playbook = playbookRecord({ checkerId: sandboxId(1) });
const image = imageRecord({ state: 'finishing', builderId: sandboxId(1), done: 1 });

let store: Store;
useStore((opened) => ({ store } = opened));

test('a playbook and a build that end while their host is decommissioned are not marked failed', async () => {
  await store.sandboxes.create(record(1, { hostId: HOST }));
  await store.playbooks.create(playbook);
  await store.images.create(image);
  const terminate = async (workflowId: string) => {
    if (workflowId.startsWith('playbook')) await store.playbooks.update(playbook.id, { state: 'checked', endedAt: at });
    if (workflowId.startsWith('image')) await store.images.update(image.id, { state: 'ready', readyAt: at });
  };
  const reconciliation = { terminate } as unknown as Parameters<
    typeof createDecommissionActivities
  >[0]['reconciliation'];
  const activities = createDecommissionActivities({ store, reconciliation });
  const context = { heartbeat: () => {} } as unknown as Context;
  await asyncLocalStorage.run(context, () => activities.forgetThingsOn({ hostId: HOST, actor, at }));
  expect(await store.playbooks.get(playbook.id)).toMatchObject({ state: 'checked', failure: null });
  expect(await store.images.get(image.id)).toMatchObject({ state: 'ready', failure: null });
});
