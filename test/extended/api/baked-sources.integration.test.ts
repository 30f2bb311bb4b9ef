import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SandboxView } from '../../../api/resources/sandbox-schemas.ts';
import type { SnapshotView } from '../../../api/snapshots/snapshots.ts';
import { deriveSourceId } from '../../../model/ids.ts';
import type { BakedSource } from '../../../model/snapshots/baked-source.ts';
import { host, jsonOf, problemOf, useDoor } from '../../api/support.ts';

const door = useDoor();
let fromSnapshot: string;

beforeAll(async () => {
  const { id } = await jsonOf<SandboxView>(door.call('POST', '/v1/sandboxes', { source: 'golden' }));
  ({ id: fromSnapshot } = await jsonOf<SnapshotView>(door.call('POST', `/v1/sandboxes/${id}/snapshots`, {})));
});
beforeEach(async () => {
  door.sagas.outcome = 'running';
  door.sagas.started = [];
  await door.store.hosts.describe(host('kvm-1'));
  await door.store.snapshots.update(fromSnapshot, { state: 'ready' });
});

const bake = (body: object, headers: Record<string, string> = {}, key?: string) =>
  door.call('POST', '/v1/sources', body, headers, key);

describe('baking', () => {
  it('answers 201 with the source, once for each key', async () => {
    const headers = { 'Idempotency-Key': 'bake-1' };
    const response = await bake({ name: 'tools', fromSnapshot }, headers);
    expect([response.status, response.headers.get('Location')]).toEqual([201, '/v1/sources/tools']);
    const baked = (await response.json()) as BakedSource;
    expect(baked).toMatchObject({ id: deriveSourceId('kvm-1', 'tools'), state: 'ready', snapshotId: fromSnapshot });
    expect(baked).not.toHaveProperty('bakeId');
    expect(await (await bake({ name: 'tools', fromSnapshot }, headers)).json()).toEqual(baked);
    await door.store.bakedSources.update(baked.id, { state: 'baking' });
    expect(await bake({ name: 'tools', fromSnapshot }, headers)).toMatchObject({ status: 202 });
    await door.store.bakedSources.update(baked.id, { state: 'ready' });
    expect(door.sagas.started).toEqual([`bake tools of ${fromSnapshot} on kvm-1`]);
    expect((await problemOf(await bake({ name: 'other', fromSnapshot }, headers))).code).toBe('idempotency_key_reused');
    const detail = await jsonOf<{ baked: unknown[]; problem: string }>(door.call('GET', '/v1/sources/tools'));
    expect(detail).toMatchObject({ cloneable: false, problem: 'It is ready.', baked: [baked] });
  });

  it('answers 202 when the wait ends first, and can be polled', async () => {
    door.sagas.outcome = 'never';
    const response = await bake({ name: 'slow', fromSnapshot }, { Prefer: 'wait=0' });
    expect([response.status, response.headers.get('Preference-Applied')]).toEqual([202, 'wait=0']);
    expect(await response.json()).toMatchObject({ state: 'baking', image: null });
  });

  it('answers its failure', async () => {
    door.sagas.outcome = 'failed';
    const problem = await problemOf(await bake({ name: 'broken', fromSnapshot }));
    expect(problem).toMatchObject({ status: 502, code: 'bake_failed', detail: 'cleanGuest: no' });
  });

  it.each([
    '',
    '1st',
    '.hidden',
    '-x',
    '../x',
    'a/b',
    'a b',
    'a\n',
    'x'.repeat(64),
    'sbx-0123456789abcdef',
    'abcdef01-2345-6789-abcd-ef0123456789',
    7,
    null,
  ])('refuses the name %j', async (name) => {
    const problem = await problemOf(await bake({ name, fromSnapshot } as object));
    expect(problem).toMatchObject({ code: 'invalid_request', errors: [{ field: 'name' }] });
    expect(door.sagas.started).toEqual([]);
  });

  it('refuses requests that cannot be baked, and releases the key', async () => {
    const headers = { 'Idempotency-Key': 'bake-2' };
    const named = (name: string) => bake({ name, fromSnapshot }, headers);
    expect(await problemOf(await named('golden'))).toMatchObject({ status: 409, code: 'source_exists' });
    await door.store.snapshots.update(fromSnapshot, { state: 'deleting' });
    expect(await problemOf(await named('late'))).toMatchObject({ code: 'snapshot_not_ready' });
    await door.store.snapshots.update(fromSnapshot, { state: 'ready' });
    await door.store.hosts.describe(host('kvm-1', { lastSeenAt: '2026-01-01T00:00:00.000Z' }));
    expect(await problemOf(await named('away'))).toMatchObject({ code: 'no_host' });
    await door.store.hosts.describe(host('kvm-1'));
    const unknown = await bake({ name: 'x', fromSnapshot: 'snp-0000000000000000' });
    expect(await problemOf(unknown)).toMatchObject({ status: 404, code: 'snapshot_not_found' });
    for (const bad of [{ name: 'x' }, { name: 'x', fromSnapshot: 'x' }, { name: 'x', fromSnapshot, more: 1 }]) {
      expect((await problemOf(await bake(bad))).code).toBe('invalid_request');
    }
    expect(door.sagas.started).toEqual([]);
    expect((await named('now')).status).toBe(201);
  });

  it('requires the scope admin', async () => {
    const writer = await door.key('sandboxes:write', 'sandboxes:read');
    expect((await problemOf(await bake({ name: 'x', fromSnapshot }, {}, writer))).code).toBe('forbidden');
    const response = await door.call('DELETE', '/v1/sources/tools', undefined, {}, writer);
    expect((await problemOf(response)).code).toBe('forbidden');
  });
});

describe('deleting', () => {
  const remove = (name: string, query = '') => door.call('DELETE', `/v1/sources/${name}${query}`);

  it('answers 200 after the delete, and again', async () => {
    await bake({ name: 'short', fromSnapshot });
    door.sagas.started = [];
    for (let twice = 0; twice < 2; twice++) {
      const response = await remove('short', '?hostId=kvm-1');
      expect([response.status, await response.json()]).toMatchObject([200, { state: 'deleted', name: 'short' }]);
    }
    expect(door.sagas.started).toEqual(['delete short']);
  });

  it('is refused while the source is in use, and for sources that Mayfly did not make', async () => {
    await bake({ name: 'used', fromSnapshot });
    door.sagas.outcome = 'failed';
    expect(await problemOf(await remove('used'))).toMatchObject({ status: 409, code: 'source_in_use' });
    expect(await problemOf(await remove('golden'))).toMatchObject({ status: 409, code: 'source_not_baked' });
    expect(await problemOf(await remove('nowhere'))).toMatchObject({ status: 404, code: 'source_not_found' });
    expect((await problemOf(await remove('used', '?hostId=-'))).code).toBe('invalid_request');
    expect((await problemOf(await remove('used', '?force=1'))).code).toBe('invalid_request');
  });
});
