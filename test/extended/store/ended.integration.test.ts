import type mongoose from 'mongoose';
import { expect, it } from 'vitest';
import type { Store } from '../../../store/connect.ts';
import { listStorageUse } from '../../../store/stored-parts.ts';
import { record, sandboxId, snapshot, snapshotId } from '../../store/support.ts';
import { useStore } from '../../support/use-store.ts';

const LIVING = 20;
const BULK = 1_000;

let store: Store;
let db: mongoose.Connection;
useStore(
  async (opened) => {
    ({ store, db } = opened);
    for (let n = 1; n <= LIVING; n++) {
      await store.sandboxes.create(record(n, { state: 'running', hostId: 'kvm-1' }));
      await store.snapshots.create(snapshot(n, { sandboxId: sandboxId(n), state: 'ready' }));
    }
  },
  { auditKey: Buffer.alloc(32, 7) },
);

/** Queries that run every two seconds, at every scrape, for every list and every idle timer. */
const HOT = {
  quotas: () => listStorageUse(store),
  stopped: () => store.sandboxes.all(['paused']),
  open: () => store.activity.openCommands(),
  list: () => store.sandboxes.list({ limit: 50 }),
  alive: () => store.sandboxes.list({ limit: 50, alive: true }),
  failed: () => store.sandboxes.list({ limit: 50, state: 'failed' }),
  due: () => store.retention.due({ before: '2026-01-01', after: null, limit: 50 }),
  faults: () => store.audit.faults(),
} satisfies Record<string, () => Promise<unknown>>;

/** Measures the minimum of three attempts, ms, which excludes other load. */
async function costOf(ask: () => Promise<unknown>): Promise<number> {
  const costs: number[] = [];
  for (let n = 0; n < 3; n++) {
    const began = performance.now();
    await ask();
    costs.push(performance.now() - began);
  }
  return Math.min(...costs);
}

/** Inserts ended sandboxes, each with a deleted snapshot and a use. */
async function insertEnded(count: number): Promise<void> {
  for (let from = 0; from < count; from += BULK) {
    const numbers = Array.from({ length: Math.min(BULK, count - from) }, (_, n) => 1_000_000 + from + n);
    const docs = (of: (n: number) => { _id: string }) => numbers.map(of);
    const insert = (name: string, documents: { _id: string }[]) =>
      db.collection<{ _id: string }>(name).insertMany(documents, { ordered: false });
    const ended = (n: number) => {
      const { id: _id, spec, ...rest } = record(n, { state: 'destroyed' });
      return { _id, ...rest, spec: { ...spec, metadata: [] } };
    };
    const deleted = (n: number) => {
      const { id: _id, ...rest } = snapshot(n, { sandboxId: sandboxId(n), state: 'deleted' });
      return { _id, ...rest };
    };
    await insert('endedSandboxes', docs(ended));
    await insert('snapshots', docs(deleted));
    await insert(
      'uses',
      docs((n) => ({ _id: sandboxId(n), usedAt: n, openCommands: [] })),
    );
  }
}

async function expectUnmoved(): Promise<void> {
  expect((await HOT.quotas()).map(({ id }) => id).sort((a, b) => a.localeCompare(b))).toEqual(
    [...Array(LIVING).keys()].flatMap((n) => [sandboxId(n + 1), snapshotId(n + 1)]).sort((a, b) => a.localeCompare(b)),
  );
  const scan = await costOf(() => db.collection('endedSandboxes').findOne({ hostId: 'nowhere' }));
  for (const [name, ask] of Object.entries(HOT)) {
    const cost = await costOf(ask);
    expect(cost, `${name} took ${cost} ms, where reading all that ended takes ${scan} ms`).toBeLessThan(scan / 4);
  }
}

it('frequent queries do not read 100,000 ended sandboxes', { timeout: 600_000 }, async () => {
  await insertEnded(100_000);
  await expectUnmoved();
});
