import mongoose from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sourceIdOf } from '../../../model/ids.ts';
import { documentOf } from '../../../store/sandboxes/sandbox-document.ts';
import { commandId, record, sandboxId, snapshot, snapshotId } from '../../store/support.ts';
import { openStore } from '../../support/open-store.ts';
import { type StoreServer, startStoreServer } from '../../support/store-server.ts';

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
  await collection('sandboxes').insertMany(sandboxes.map((one) => ({ ...withoutProject(documentOf(one)) })));
  await collection('uses').insertMany([
    { _id: sandboxId(1_000), usedAt: 1, openCommands: [commandId(1)] },
    { _id: sandboxId(1), usedAt: 1, openCommands: [] },
    { _id: sandboxId(2), usedAt: 1 },
  ]);
  const key = { secretHash: 'h', createdAt: '2026-01-01T00:00:00.000Z', revokedAt: null };
  await collection('apiKeys').insertMany([
    { _id: '00000000000a', name: 'all', scopes: ['admin'], ...key },
    { _id: '00000000000b', name: 'reads', scopes: ['sandboxes:read'], ...key },
  ]);
  await olderCopies();
  await collection('idempotency').insertMany([
    { _id: 'past', bodyDigest: 'd', subjectId: sandboxId(1), createdAt: Date.now() - 25 * 3_600_000, answer: null },
    { _id: 'kept', bodyDigest: 'd', subjectId: sandboxId(1), createdAt: Date.now(), answer: null },
  ]);
}

const captureId = 'cap-0000000000000001';
const bakedId = sourceIdOf('kvm-1', 'tools');

/** Snapshots, captures and baked sources, of before there were projects. */
async function olderCopies(): Promise<void> {
  const actor = { apiKeyId: '00000000000a', agentId: null };
  const made = { hostId: 'kvm-1', installationId: null, createdBy: actor, createdAt: '2026-01-01T00:00:00.000Z' };
  const { id, project: _later, ...saved } = snapshot(1, { state: 'ready' });
  await collection('snapshots').insertOne({ _id: id, ...saved });
  await collection('captures').insertOne({ _id: captureId, source: 'golden', state: 'ready', ...made });
  await collection('bakedSources').insertOne({ _id: bakedId, name: 'tools', state: 'ready', ...made });
}

function withoutProject({ project: _later, ...document }: ReturnType<typeof documentOf>): Stored {
  return document;
}

/** More than one batch of a cursor: 101 documents come first. */
const MANY = 300;

describe('a store that an earlier version has written', () => {
  it('is brought up to date, also by several at once and after it was cut short', async () => {
    await storeAsBefore();
    // One of those that have ended was moved before somebody was killed.
    await collection('endedSandboxes').insertOne({ ...withoutProject(documentOf(record(1, { state: 'destroyed' }))) });
    const stores = await Promise.all([1, 2, 3].map(() => openStore(server.uri)));
    const [store] = stores;
    if (!store) throw new Error('there is no store');
    expect(await collection('sandboxes').countDocuments()).toBe(1);
    expect((await store.sandboxes.all(['destroyed', 'failed'])).length).toBe(120);
    expect(await store.sandboxes.get(sandboxId(7))).toEqual(record(7, { state: 'destroyed' }));
    expect((await store.sandboxes.countByState()).get('failed')).toBe(60);
    expect(await store.activity.openCommands()).toEqual([{ sandboxId: sandboxId(1_000), commandId: commandId(1) }]);
    const listed = await store.sandboxes.list({ limit: 200, project: 'default' });
    expect(listed.items.length).toBe(121);
    expect(listed.items.every(({ project }) => project === 'default')).toBe(true);
    const keys = await store.apiKeys.list();
    expect(keys.map(({ project, scopes }) => [project, scopes])).toEqual([
      ['default', ['admin', 'operator']],
      ['default', ['sandboxes:read']],
    ]);
    expect((await store.snapshots.get(snapshotId(1)))?.project).toBe('default');
    expect((await store.bakedSources.get(bakedId))?.project).toBe('default');
    expect(await store.captures.get(captureId)).toMatchObject({
      project: 'default',
      projects: ['default'],
      allowedEgress: 'internet',
    });
    for (const name of ['sandboxes', 'endedSandboxes', 'snapshots', 'captures', 'bakedSources', 'apiKeys']) {
      expect(await collection(name).countDocuments({ project: { $exists: false } }), name).toBe(0);
    }
    expect(await store.idempotency.prune()).toBe(1);
    expect(await collection('idempotency').countDocuments()).toBe(1);
    await Promise.all(stores.map((one) => one.close()));
  });

  it('is brought up to date where there is more than a cursor reads at once', async () => {
    const numbers = Array.from({ length: MANY }, (_, n) => 3_000 + n);
    const [uses, keys] = [collection('uses'), collection('idempotency')];
    await uses.insertMany(numbers.map((n) => ({ _id: sandboxId(n), usedAt: 1, openCommands: [commandId(n)] })));
    const key = { bodyDigest: 'd', createdAt: Date.now(), answer: null };
    await keys.insertMany(numbers.map((n) => ({ _id: `key-${n}`, subjectId: sandboxId(n), ...key })));
    await collection('layout').deleteMany({});
    const stores = await Promise.all([1, 2, 3].map(() => openStore(server.uri)));
    expect(await uses.countDocuments({ busy: 'yes' })).toBe(MANY + 1);
    expect(await keys.countDocuments({ expiresAt: { $exists: true }, createdAt: { $exists: false } })).toBe(MANY + 1);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is left alone from then on', async () => {
    const layout = await collection('layout').findOne({ _id: 'layout' });
    await collection('sandboxes').insertOne({ ...documentOf(record(2_000, { state: 'destroyed' })) });
    await (await openStore(server.uri)).close();
    expect(await collection('layout').findOne({ _id: 'layout' })).toEqual(layout);
    expect(await collection('sandboxes').countDocuments()).toBe(2);
  });
});
