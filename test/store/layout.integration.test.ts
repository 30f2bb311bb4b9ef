import mongoose from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore } from '../../store/connect.ts';
import { documentOf } from '../../store/sandboxes/sandbox-document.ts';
import { type StoreServer, startStoreServer } from '../support/store-server.ts';
import { commandId, record, sandboxId } from './support.ts';

type Stored = Record<string, unknown> & { _id: string };

let server: StoreServer;
let db: mongoose.Connection;
const collection = (name: string) => db.collection<Stored>(name);

beforeAll(async () => {
  server = await startStoreServer();
  db = await mongoose.createConnection(server.uri).asPromise();
});
afterAll(async () => {
  await db?.close();
  await server?.stop();
});

/** What the version before had: all sandboxes in one collection, uses without a mark, keys with a number. */
async function storeAsBefore(): Promise<void> {
  const sandboxes = [
    ...Array.from({ length: 120 }, (_, n) => record(n, { state: n % 2 ? 'destroyed' : 'failed' })),
    record(1_000, { state: 'running' }),
  ];
  await collection('sandboxes').insertMany(sandboxes.map((one) => ({ ...documentOf(one) })));
  await collection('uses').insertMany([
    { _id: sandboxId(1_000), usedAt: 1, openCommands: [commandId(1)] },
    { _id: sandboxId(1), usedAt: 1, openCommands: [] },
    { _id: sandboxId(2), usedAt: 1 },
  ]);
  await collection('idempotency').insertMany([
    { _id: 'past', bodyDigest: 'd', subjectId: sandboxId(1), createdAt: Date.now() - 25 * 3_600_000, answer: null },
    { _id: 'kept', bodyDigest: 'd', subjectId: sandboxId(1), createdAt: Date.now(), answer: null },
  ]);
}

describe('a store that an earlier version has written', () => {
  it('is brought up to date, also by several at once and after it was cut short', async () => {
    await storeAsBefore();
    // One of those that have ended was moved before somebody was killed.
    await collection('endedSandboxes').insertOne({ ...documentOf(record(1, { state: 'destroyed' })) });
    const stores = await Promise.all([1, 2, 3].map(() => connectStore(server.uri)));
    const [store] = stores;
    if (!store) throw new Error('there is no store');
    expect(await collection('sandboxes').countDocuments()).toBe(1);
    expect((await store.sandboxes.all(['destroyed', 'failed'])).length).toBe(120);
    expect(await store.sandboxes.get(sandboxId(7))).toEqual(record(7, { state: 'destroyed' }));
    expect((await store.sandboxes.countByState()).get('failed')).toBe(60);
    expect(await store.activity.openCommands()).toEqual([{ sandboxId: sandboxId(1_000), commandId: commandId(1) }]);
    expect(await store.idempotency.prune()).toBe(1);
    expect(await collection('idempotency').countDocuments()).toBe(1);
    await Promise.all(stores.map((one) => one.close()));
  });

  it('is left alone from then on', async () => {
    const layout = await collection('layout').findOne({ _id: 'layout' });
    await collection('sandboxes').insertOne({ ...documentOf(record(2_000, { state: 'destroyed' })) });
    await (await connectStore(server.uri)).close();
    expect(await collection('layout').findOne({ _id: 'layout' })).toEqual(layout);
    expect(await collection('sandboxes').countDocuments()).toBe(2);
  });
});
