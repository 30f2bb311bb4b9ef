import { expect, it } from 'vitest';
import type { SavedSnapshot } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';
import { useStore } from '../support/use-store.ts';
import { sandboxId, snapshot } from './support.ts';

let store: Store;
useStore((opened) => ({ store } = opened));

it('gives a name to one of fifty concurrent creates, and frees it after a failure or deletion', async () => {
  const named = Array.from({ length: 50 }, (_, n) => snapshot(100 + n, { name: 'base' }));
  const results = await Promise.allSettled(named.map((one) => store.snapshots.create(one)));
  const refused = results.filter((result) => result.status === 'rejected');
  expect(refused).toHaveLength(49);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: 'snapshot_name_taken' });
  const winner = named[results.findIndex(({ status }) => status === 'fulfilled')] ?? snapshot(0);
  expect(await store.snapshots.create(winner)).toEqual(winner);
  await store.snapshots.create(snapshot(200, { name: 'base', sandboxId: sandboxId(2) }));
  for (const state of ['failed', 'deleted'] as const) {
    const { items } = await store.snapshots.list({ sandboxId: sandboxId(1), limit: 1 });
    await store.snapshots.update(items[0]?.id ?? '', { state });
    await store.snapshots.create(snapshot(state === 'failed' ? 201 : 202, { name: 'base' }));
  }
});

it('stores saved data, and lists the newest first', async () => {
  const of = sandboxId(3);
  for (const n of [1, 2, 3]) await store.snapshots.create(snapshot(n, { sandboxId: of }));
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
  const changed = await store.snapshots.update(snapshot(2).id, changes);
  expect(changed).toEqual(snapshot(2, { sandboxId: of, ...changes }));
  expect(await store.snapshots.get(changed.id)).toEqual(changed);
  const first = await store.snapshots.list({ sandboxId: of, limit: 2 });
  expect(first.items.map(({ id }) => id)).toEqual([snapshot(3).id, snapshot(2).id]);
  const last = await store.snapshots.list({ sandboxId: of, limit: 2, cursor: first.nextCursor ?? '' });
  expect(last).toEqual({ items: [snapshot(1, { sandboxId: of })], nextCursor: null });
  expect((await store.snapshots.creating(of)).map(({ id }) => id).sort()).toEqual([snapshot(1).id, snapshot(3).id]);
});

it('reports missing snapshots, and accepts ids only', async () => {
  expect(await store.snapshots.get(snapshot(999).id)).toBeNull();
  await expect(store.snapshots.update(snapshot(999).id, {})).rejects.toMatchObject({ code: 'snapshot_not_found' });
  await expect(store.snapshots.get('{"$ne":null}')).rejects.toMatchObject({ code: 'invalid_id' });
  await expect(store.snapshots.list({ sandboxId: 'x', limit: 1 })).rejects.toMatchObject({ code: 'invalid_id' });
});
