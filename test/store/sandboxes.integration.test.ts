import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type Store } from '../../store/connect.ts';
import { type StoreServer, startStoreServer } from '../support/store-server.ts';
import { record, sandboxId } from './support.ts';

let server: StoreServer;
let store: Store;

beforeAll(async () => {
  server = await startStoreServer();
  store = await connectStore(server.uri);
});
afterAll(async () => {
  await store?.close();
  await server?.stop();
});

describe('records', () => {
  it('come back as they went in, with every part filled', async () => {
    const full = record(1, {
      state: 'destroyed',
      spec: { ...record(1).spec, cpus: 2, metadata: { 'a.b': '1', $where: 'x', '': '' } },
      hostId: 'kvm-1',
      ssh: { address: '10.0.0.2', port: 22, user: 'agent', hostKey: 'ssh-ed25519 AAAA' },
      macAddress: '52:54:00:00:00:01',
      stopReason: 'create-failed',
      failure: { code: 'boot_failed', step: 'bootDomain', message: '' },
      proof: {
        sandboxId: sandboxId(1),
        hostId: 'kvm-1',
        observations: [
          { layer: 'domain', lookedAt: 'virsh list', absent: false, found: 'it', at: record(1).createdAt },
          { layer: 'lease', lookedAt: 'leases', absent: true, at: record(1).createdAt },
        ],
        provedAt: record(1).createdAt,
      },
      steps: [{ step: 'cloneDisk', startedAt: record(1).createdAt, endedAt: record(1).createdAt }],
    });
    await store.sandboxes.create(full);
    expect(await store.sandboxes.get(full.id)).toEqual(full);
  });

  it('are made once, and only the same request may try again', async () => {
    await store.sandboxes.create(record(2));
    await store.sandboxes.update(sandboxId(2), { state: 'creating', phase: 'placing' });
    expect((await store.sandboxes.create(record(2))).state).toBe('creating');
    const other = record(2, { createdBy: { apiKeyId: 'ffffffffffff', agentId: null } });
    await expect(store.sandboxes.create(other)).rejects.toMatchObject({ code: 'internal' });
  });

  it('change by whole fields, and not when they are not there', async () => {
    await store.sandboxes.create(record(3));
    const changed = await store.sandboxes.update(sandboxId(3), {
      spec: { ...record(3).spec, metadata: { 'x.y': 'z' } },
      waitingFor: 'host kvm-1 to come back',
    });
    expect(changed.spec.metadata).toEqual({ 'x.y': 'z' });
    expect(await store.sandboxes.get(sandboxId(3))).toEqual(changed);
    await expect(store.sandboxes.update(sandboxId(999), { state: 'running' })).rejects.toMatchObject({
      code: 'sandbox_not_found',
    });
  });

  it('refuse fields and states that nobody defined', async () => {
    const hostile = { state: 'root', extra: 1 } as unknown as { state: 'running' };
    await expect(store.sandboxes.update(sandboxId(3), hostile)).rejects.toThrow();
    expect((await store.sandboxes.get(sandboxId(3)))?.state).toBe('requested');
  });

  it('are never found by a query in the place of an id', async () => {
    for (const hostile of [{ $ne: null }, { $gt: '' }, ['x'], null, '../etc', '$ne', 'sbx-$']) {
      await expect(store.sandboxes.get(hostile as unknown as string)).rejects.toMatchObject({ code: 'invalid_id' });
    }
  });
});

describe('pages', () => {
  it('are newest first, complete, and stand still while others insert', async () => {
    for (let n = 100; n < 107; n++) await store.sandboxes.create(record(n, { state: 'paused' }));
    const first = await store.sandboxes.list({ limit: 3, state: 'paused' });
    expect(first.items.map((item) => item.id)).toEqual([106, 105, 104].map(sandboxId));
    await store.sandboxes.create(record(200, { state: 'paused' }));
    const seen = [...first.items];
    for (let cursor = first.nextCursor; cursor; ) {
      const page = await store.sandboxes.list({ limit: 3, state: 'paused', cursor });
      seen.push(...page.items);
      cursor = page.nextCursor;
    }
    expect(seen.map((item) => item.id)).toEqual([106, 105, 104, 103, 102, 101, 100].map(sandboxId));
  });

  it('settle equal times by the id', async () => {
    const createdAt = record(300).createdAt;
    for (const n of [300, 301, 302]) await store.sandboxes.create(record(n, { createdAt, state: 'warm' }));
    const { items, nextCursor } = await store.sandboxes.list({ limit: 2, state: 'warm' });
    const rest = await store.sandboxes.list({ limit: 2, state: 'warm', cursor: nextCursor ?? '' });
    expect([...items, ...rest.items].map((item) => item.id)).toEqual([302, 301, 300].map(sandboxId));
    expect(rest.nextCursor).toBeNull();
  });

  it('refuse a cursor that no page gave', async () => {
    for (const cursor of ['', 'x', Buffer.from('{"$gt":1} sbx-').toString('base64url')]) {
      await expect(store.sandboxes.list({ limit: 1, cursor })).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('have sums by state', async () => {
    expect((await store.sandboxes.countByState()).get('warm')).toBe(3);
    expect((await store.sandboxes.all(['warm'])).length).toBe(3);
  });
});
