import { expect, it } from 'vitest';
import { host, jsonOf, useDoor } from './support.ts';
import { ALPHA, BETA, HOST } from './two-projects.ts';

const door = useDoor();

it('resources created by a key belong to its project, and are invisible to another', async () => {
  const sources = [{ name: 'open', cloneable: true, problem: null, cpus: 1, memoryMib: 64, diskBytes: 1 }];
  await door.store.hosts.describe(host(HOST, { sources }));
  await door.store.projects.create(ALPHA, { sources: [] });
  await door.store.projects.create(BETA, { sources: ['open'] });
  const admin = await door.key.in(BETA, 'admin');

  const asAdmin = async (path: string, body: object) => {
    const response = await door.call('POST', path, body, {}, admin);
    expect([response.status, await response.clone().text()]).toEqual([201, expect.any(String)]);
    return jsonOf<Made>(response);
  };
  const made = await asAdmin('/v1/sandboxes', { source: 'open', name: 'betas-own' });
  const snapshot = await asAdmin(`/v1/sandboxes/${made.id}/snapshots`, { name: 'betas-save' });
  await door.store.snapshots.update(snapshot.id, { state: 'ready', hostId: HOST });
  const forks = await asAdmin('/v1/sandboxes', { snapshotId: snapshot.id, count: 2 });
  const key = await asAdmin('/v1/keys', { name: 'betas-key', scopes: ['sandboxes:read'] });
  const forked = (forks.items ?? []).map(({ sandbox }) => sandbox);
  for (const one of [made, ...forked, snapshot]) expect(one).toMatchObject({ project: BETA });
  expect(forked).toHaveLength(2);
  expect((await door.store.apiKeys.get(key.id))?.project).toBe(BETA);
  const stranger = await door.key.in(ALPHA, 'admin');
  for (const { id } of [made, ...forked]) {
    expect((await door.call('GET', `/v1/sandboxes/${id}`, undefined, {}, admin)).status).toBe(200);
    expect((await door.call('GET', `/v1/sandboxes/${id}`, undefined, {}, stranger)).status).toBe(404);
    expect(await door.store.sandboxes.get(id)).toMatchObject({ project: BETA, createdBy: { project: BETA } });
  }
});

interface Made {
  id: string;
  project: string;
  items?: { sandbox: Made }[];
}
