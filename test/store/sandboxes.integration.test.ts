import type mongoose from 'mongoose';
import { describe, expect, it } from 'vitest';
import { isFinal, SANDBOX_STATES } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import { documentOf } from '../../store/sandboxes/sandbox-document.ts';
import { useStore } from '../support/use-store.ts';
import { record, sandboxId } from './support.ts';

let store: Store;
let db: mongoose.Connection;
useStore((opened) => ({ store, db } = opened));

describe('records', () => {
  it('are stored unchanged, with every field set', async () => {
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

  it('are created once; only the same request may be repeated', async () => {
    await store.sandboxes.create(record(2));
    await store.sandboxes.update(sandboxId(2), { state: 'creating', phase: 'placing' });
    expect((await store.sandboxes.create(record(2))).state).toBe('creating');
    const other = record(2, { createdBy: { apiKeyId: 'ffffffffffff', agentId: null, project: 'default' } });
    await expect(store.sandboxes.create(other)).rejects.toMatchObject({ code: 'internal' });
  });

  it('are updated by whole fields, and only if they exist', async () => {
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

  it('refuse undefined fields and states', async () => {
    const hostile = { state: 'root', extra: 1 } as unknown as { state: 'running' };
    await expect(store.sandboxes.update(sandboxId(3), hostile)).rejects.toThrow();
    expect((await store.sandboxes.get(sandboxId(3)))?.state).toBe('requested');
  });

  it('are never found by a query in place of an id', async () => {
    for (const hostile of [{ $ne: null }, { $gt: '' }, ['x'], null, '../etc', '$ne', 'sbx-$']) {
      await expect(store.sandboxes.get(hostile as unknown as string)).rejects.toMatchObject({ code: 'invalid_id' });
    }
  });
});

describe('ended sandboxes', () => {
  const names = ['sandboxes', 'endedSandboxes'] as const;
  const homesOf = async (id: string) => {
    const found = await Promise.all(names.map((name) => db.collection<{ _id: string }>(name).findOne({ _id: id })));
    return names.filter((_, n) => found[n]);
  };

  it('move out of the live collection, and are found as before', async () => {
    await store.sandboxes.create(record(10, { state: 'running' }));
    expect(await homesOf(sandboxId(10))).toEqual(['sandboxes']);
    const ended = await store.sandboxes.update(sandboxId(10), { state: 'destroyed', stopReason: 'deleted' });
    expect(await homesOf(sandboxId(10))).toEqual(['endedSandboxes']);
    expect(await store.sandboxes.get(sandboxId(10))).toEqual(ended);
    expect((await store.sandboxes.all(['destroyed'])).map(({ id }) => id)).toContain(sandboxId(10));
    expect((await store.sandboxes.all(['running'])).map(({ id }) => id)).not.toContain(sandboxId(10));
  });

  it('end once, for any number and order of writes of the end', async () => {
    const end = { state: 'failed', failure: { code: 'boot_failed', step: 'bootDomain', message: 'no' } } as const;
    await store.sandboxes.create(record(11, { state: 'destroying' }));
    const first = await store.sandboxes.update(sandboxId(11), end);
    expect(await store.sandboxes.update(sandboxId(11), end)).toEqual(first);
    // As after a crash before the record was removed from the live collection.
    await db.collection<{ _id: string }>('sandboxes').insertOne({ ...documentOf(record(11, { state: 'destroying' })) });
    expect(await store.sandboxes.update(sandboxId(11), end)).toEqual(first);
    expect(await homesOf(sandboxId(11))).toEqual(['endedSandboxes']);
    expect((await store.sandboxes.all()).filter(({ id }) => id === sandboxId(11)).length).toBe(1);
  });

  it('are listed once while they move', async () => {
    await store.sandboxes.create(record(12, { state: 'destroyed' }));
    await db.collection<{ _id: string }>('sandboxes').insertOne({ ...documentOf(record(12, { state: 'running' })) });
    const { items } = await store.sandboxes.list({ limit: 200 });
    expect(items.filter(({ id }) => id === sandboxId(12)).map(({ state }) => state)).toEqual(['destroyed']);
  });

  it('are omitted from a list of live ones', async () => {
    await store.sandboxes.create(record(16));
    await store.sandboxes.create(record(17));
    await store.sandboxes.update(sandboxId(17), { state: 'destroyed' });
    const ids = (await store.sandboxes.list({ limit: 200, alive: true })).items.map(({ id }) => id);
    expect(ids).toContain(sandboxId(16));
    expect(ids).not.toContain(sandboxId(17));
  });

  it('are not recreated by a late repetition of their request', async () => {
    await store.sandboxes.create(record(13));
    await store.sandboxes.update(sandboxId(13), { state: 'destroyed' });
    expect((await store.sandboxes.create(record(13))).state).toBe('destroyed');
    expect(await homesOf(sandboxId(13))).toEqual(['endedSandboxes']);
    const other = record(13, { createdBy: { apiKeyId: 'ffffffffffff', agentId: null, project: 'default' } });
    await expect(store.sandboxes.create(other)).rejects.toMatchObject({ code: 'internal' });
  });

  it.each(['destroyed', 'failed'] as const)('that are %s are never reopened', async (end) => {
    const id = sandboxId(end === 'failed' ? 14 : 18);
    await store.sandboxes.create(record(end === 'failed' ? 14 : 18));
    await store.sandboxes.update(id, { state: 'destroying' });
    await store.sandboxes.update(id, { state: end });
    for (const state of SANDBOX_STATES.filter((each) => !isFinal(each))) {
      await expect(store.sandboxes.update(id, { state })).rejects.toMatchObject({ code: 'sandbox_ended' });
    }
    await store.sandboxes.update(id, { state: end, waitingFor: null }); // repetition after a lost answer
    expect(await homesOf(id)).toEqual(['endedSandboxes']);
    expect((await store.sandboxes.get(id))?.state).toBe(end);
  });

  it('refuse undefined fields and states at the end', async () => {
    await store.sandboxes.create(record(15));
    const hostile = { state: 'destroyed', extra: 1 } as unknown as { state: 'destroyed' };
    await expect(store.sandboxes.update(sandboxId(15), hostile)).rejects.toThrow();
    expect(await homesOf(sandboxId(15))).toEqual(['sandboxes']);
  });

  it('are on the same pages as live ones, in one order', async () => {
    const first = await store.sandboxes.list({ limit: 200 });
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await store.sandboxes.list({ limit: 2, ...(cursor && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(first.items.map(({ id }) => id));
    expect(new Set(first.items.map(({ state }) => state)).size).toBeGreaterThan(2);
    const ages = first.items.map(({ createdAt, id }) => `${createdAt} ${id}`);
    expect(ages).toEqual([...ages].sort().reverse());
  });
});

describe('pages', () => {
  it('are newest first, complete, and stable during inserts', async () => {
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

  it('order equal times by id', async () => {
    const createdAt = record(300).createdAt;
    for (const n of [300, 301, 302]) await store.sandboxes.create(record(n, { createdAt, state: 'warm' }));
    const { items, nextCursor } = await store.sandboxes.list({ limit: 2, state: 'warm' });
    const rest = await store.sandboxes.list({ limit: 2, state: 'warm', cursor: nextCursor ?? '' });
    expect([...items, ...rest.items].map((item) => item.id)).toEqual([302, 301, 300].map(sandboxId));
    expect(rest.nextCursor).toBeNull();
  });

  it('refuse an invalid cursor', async () => {
    for (const cursor of ['', 'x', Buffer.from('{"$gt":1} sbx-').toString('base64url')]) {
      await expect(store.sandboxes.list({ limit: 1, cursor })).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('have counts by state', async () => {
    expect((await store.sandboxes.countByState()).get('warm')).toBe(3);
    expect((await store.sandboxes.all(['warm'])).length).toBe(3);
  });
});
