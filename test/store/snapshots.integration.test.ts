import { expect, it } from 'vitest';
import type { SavedSnapshot, SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';
import { useStore } from '../support/use-store.ts';
import { sandboxId } from './support.ts';

let store: Store;
useStore((opened) => {
  store = opened;
});

/** Snapshot n, taken in second n. */
function record(n: number, changes: Partial<SnapshotRecord> = {}): SnapshotRecord {
  const id = `snp-${String(n).padStart(16, '0')}`;
  return {
    id,
    project: 'default',
    sandboxId: sandboxId(1),
    hostId: 'kvm-1',
    installationId: null,
    source: 'golden',
    name: id,
    kind: 'disk',
    state: 'creating',
    reason: 'requested',
    parentId: null,
    createdBy: { apiKeyId: '0123456789ab', agentId: null },
    createdAt: new Date(n * 1_000).toISOString(),
    readyAt: null,
    saved: null,
    failure: null,
    keptFor: null,
    ...changes,
  };
}

it('gives a name to one of fifty at once, and to another when that one has failed or is deleted', async () => {
  const named = Array.from({ length: 50 }, (_, n) => record(100 + n, { name: 'base' }));
  const results = await Promise.allSettled(named.map((one) => store.snapshots.create(one)));
  const refused = results.filter((result) => result.status === 'rejected');
  expect(refused).toHaveLength(49);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: 'snapshot_name_taken' });
  const winner = named[results.findIndex(({ status }) => status === 'fulfilled')] ?? record(0);
  expect(await store.snapshots.create(winner)).toEqual(winner);
  await store.snapshots.create(record(200, { name: 'base', sandboxId: sandboxId(2) }));
  for (const state of ['failed', 'deleted'] as const) {
    const { items } = await store.snapshots.list({ sandboxId: sandboxId(1), limit: 1 });
    await store.snapshots.update(items[0]?.id ?? '', { state });
    await store.snapshots.create(record(state === 'failed' ? 201 : 202, { name: 'base' }));
  }
});

it('remembers what was saved, and lists the newest first', async () => {
  const of = sandboxId(3);
  for (const n of [1, 2, 3]) await store.snapshots.create(record(n, { sandboxId: of }));
  const disk = { target: 'vda', sha256: 'ab', virtualBytes: 2 ** 40, storedBytes: 0 };
  const at = '2026-01-01T00:00:00.000Z';
  const saved: SavedSnapshot = {
    kind: 'disk',
    disks: [disk],
    memoryBytes: null,
    sizeBytes: 196_608,
    quiesced: false,
    savedAt: at,
  };
  const changes = { state: 'ready' as const, saved, readyAt: at };
  const changed = await store.snapshots.update(record(2).id, changes);
  expect(changed).toEqual(record(2, { sandboxId: of, ...changes }));
  expect(await store.snapshots.get(changed.id)).toEqual(changed);
  const first = await store.snapshots.list({ sandboxId: of, limit: 2 });
  expect(first.items.map(({ id }) => id)).toEqual([record(3).id, record(2).id]);
  const last = await store.snapshots.list({ sandboxId: of, limit: 2, cursor: first.nextCursor ?? '' });
  expect(last).toEqual({ items: [record(1, { sandboxId: of })], nextCursor: null });
  expect((await store.snapshots.creating(of)).map(({ id }) => id).sort()).toEqual([record(1).id, record(3).id]);
});

it('knows what it does not have, and takes ids only', async () => {
  expect(await store.snapshots.get(record(999).id)).toBeNull();
  await expect(store.snapshots.update(record(999).id, {})).rejects.toMatchObject({ code: 'snapshot_not_found' });
  await expect(store.snapshots.get('{"$ne":null}')).rejects.toMatchObject({ code: 'invalid_id' });
  await expect(store.snapshots.list({ sandboxId: 'x', limit: 1 })).rejects.toMatchObject({ code: 'invalid_id' });
});
