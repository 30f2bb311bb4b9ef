import { expect, it } from 'vitest';
import { jsonOf, useDoor } from './support.ts';

const MIB = 1_048_576;
const door = useDoor();

const none = '000000000000';

it('returns the measured storage of a sandbox, and the usage of its key', async () => {
  const { id } = await jsonOf<{ id: string }>(door.call('POST', '/v1/sandboxes', { source: 'golden' }));
  await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
  const path = `/v1/sandboxes/${id}/usage`;
  expect(await jsonOf(door.call('GET', path))).toMatchObject({ sandboxId: id, measuredAt: null, quotaBytes: null });
  const measuredAt = new Date().toISOString();
  await door.store.measuredDisks.describe({ hostId: 'kvm-1', measuredAt, sandboxes: [{ id, bytes: 5 * MIB }] });
  expect(await jsonOf(door.call('GET', path))).toEqual({
    sandboxId: id,
    usedBytes: 5 * MIB,
    quotaBytes: null,
    workspaceBytes: 5 * MIB,
    measuredAt,
    snapshotBytes: 0,
    snapshots: 0,
  });
  expect(await jsonOf(door.call('GET', '/v1/usage'))).toMatchObject({
    scopes: ['operator'],
    usedBytes: 5 * MIB,
    sandboxes: 1,
    snapshots: 0,
  });
  expect(await (await door.call('GET', '/metrics')).text()).toContain(
    `mayfly_stored_bytes{host="kvm-1",kind="workspace"} ${5 * MIB}`,
  );
  expect((await door.call('GET', '/v1/sandboxes/sbx-zzzzzzzzzzzzzzzz/usage')).status).toBe(404);
  expect((await door.call('GET', '/v1/sandboxes/Nonsense/usage')).status).toBe(400);
});

it('returns its own usage to every key, also one without other read access', async () => {
  const only = await door.key('approvals:decide');
  const answer = await jsonOf(door.call('GET', '/v1/usage', undefined, {}, only));
  expect(answer).toMatchObject({ scopes: ['approvals:decide'], usedBytes: 0, sandboxes: 0, snapshots: 0 });
  expect((await door.call('GET', '/v1/sandboxes', undefined, {}, only)).status).toBe(403);
});

it('limits a key: named fields change, null lifts a limit, and invalid ones are refused', async () => {
  const wish = { name: 'ci', scopes: ['sandboxes:read'], diskBytes: 100 * MIB };
  const made = await jsonOf<{ id: string }>(door.call('POST', '/v1/keys', wish));
  expect(made).toMatchObject({ diskBytes: 100 * MIB, sandboxDiskBytes: null });
  const path = `/v1/keys/${made.id}`;
  const changed = await jsonOf(door.call('PATCH', path, { sandboxDiskBytes: 80 * MIB }));
  expect(changed).toMatchObject({ diskBytes: 100 * MIB, sandboxDiskBytes: 80 * MIB });
  expect(await jsonOf(door.call('PATCH', path, { diskBytes: null }))).toMatchObject({ diskBytes: null });
  expect(await door.store.apiKeys.get(made.id)).toMatchObject({ diskBytes: null, sandboxDiskBytes: 80 * MIB });
  for (const body of [
    {},
    { diskBytes: 0 },
    { diskBytes: 1.5 },
    { diskBytes: '1' },
    { disk: 1 },
    { diskBytes: 2 ** 53 },
  ]) {
    expect((await door.call('PATCH', path, body)).status).toBe(422);
  }
  expect((await door.call('PATCH', `/v1/keys/${none}`, { diskBytes: null })).status).toBe(404);
});
