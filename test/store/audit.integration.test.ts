import mongoose from 'mongoose';
import { describe, expect, it, vi } from 'vitest';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { ChainKey, GENESIS, toBody } from '../../store/audit/audit-chain.ts';
import { headText } from '../../store/audit/audit-documents.ts';
import type { AuditProblemKind } from '../../store/audit/audit-problem.ts';
import type { Store } from '../../store/connect.ts';
import { openStore } from '../support/open-store.ts';
import { useStore } from '../support/use-store.ts';
import { sandboxId } from './support.ts';

const auditKey = Buffer.alloc(32, 7);
let uri: string;
let store: Store;
let db: mongoose.Connection;
let last = 0;
useStore((opened) => ({ store, db, uri } = opened), { auditKey });

function event(n: number, detail: Record<string, unknown> = {}): AuditEvent {
  return {
    eventId: `event-${n}`,
    kind: 'sandbox.step',
    actor: { apiKeyId: '0123456789ab', agentId: 'agent', project: 'default' },
    runId: 'run',
    hostId: 'kvm-1',
    at: new Date(Date.UTC(2026, 0, 1) + n).toISOString(),
    detail,
  };
}

/** Makes a new sandbox with a chain of five entries. */
async function chain(length = 5): Promise<string> {
  const id = sandboxId(++last);
  for (let n = 0; n < length; n++) await store.audit.append(id, event(n, { n }));
  return id;
}

const entries = () => db.collection<{ _id: string; [field: string]: unknown }>('audit');
const queue = () => db.collection<{ _id: string; [field: string]: unknown }>('auditQueue');
const heads = () => db.collection<{ _id: string; head: string }>('auditHeads');

async function problemsOf(id: string): Promise<[number | null, AuditProblemKind][]> {
  const { ok, problems } = await store.audit.verify(id);
  expect(ok).toBe(problems.every((problem) => problem.kind === 'time-went-back'));
  return problems.map(({ seq, kind }) => [seq, kind]);
}

/** Rebuilds the chain like an attacker without the key: all fields fit, but the hashes use another key. */
async function rebuilt(id: string): Promise<void> {
  const forger = new ChainKey(Buffer.alloc(32, 8));
  const read = await entries().find({ sandboxId: id }).sort({ seq: 1 }).toArray();
  let last = GENESIS;
  for (const { seq } of read) {
    const forged = forger.entry(id, Number(seq), last, toBody(event(Number(seq), { forged: true })));
    await entries().updateOne({ _id: `${id}/${Number(seq)}` }, { $set: { ...forged } });
    last = forged.hash;
  }
  await heads().updateOne({ _id: id }, { $set: { head: headText(forger.head(id, read.length, last)) } });
}

async function forgedEntry(id: string, seq: number): Promise<void> {
  const forged = { sandboxId: id, seq, body: '{}', hash: 'x', previousHash: 'y', recent: [] };
  await entries().insertOne({ _id: `${id}/${seq}`, ...forged });
}

describe('appending', () => {
  it('numbers without a gap, links, and records actor, host and time (aua-021)', async () => {
    const id = await chain();
    const read = await store.audit.entries(id, { limit: 100 });
    expect(read.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4]);
    for (const [n, entry] of read.slice(1).entries()) expect(entry.previousHash).toBe(read[n]?.hash);
    expect(JSON.parse(read[2]?.body ?? '')).toEqual(event(2, { n: 2 }));
    expect(await store.audit.entries(id, { after: 2, limit: 1 })).toEqual([read[3]]);
    expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 5, problems: [] });
  });

  it('appends the same event once, however late it is repeated', async () => {
    const id = await chain(20);
    const again = await store.audit.append(id, event(3, { other: true }));
    expect(again.seq).toBe(3);
    expect((await store.audit.head(id))?.count).toBe(20);
  });

  it('recovers from a crash between entry and head, without a second entry', async () => {
    const id = await chain();
    const before = await heads().findOne({ _id: id });
    const entry = await store.audit.append(id, event(5));
    await heads().updateOne({ _id: id }, { $set: { head: before?.head ?? '' } }); // as after a crash in between
    expect(await problemsOf(id)).toEqual([]);
    expect(await store.audit.append(id, event(5))).toEqual(entry);
    await store.audit.append(id, event(6));
    expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 7, problems: [] });
  });

  it('resolves races of two processes, and is valid during them (aua-009, aua-020)', async () => {
    const id = await chain(1);
    const other = await openStore(uri, { auditKey });
    const writes = Array.from({ length: 40 }, (_, n) => (n % 2 ? store : other).audit.append(id, event(n + 1)));
    const meanwhile = await store.audit.verify(id);
    await Promise.all(writes);
    await other.close();
    expect(meanwhile.ok).toBe(true);
    const after = await store.audit.verify(id);
    expect(after).toMatchObject({ ok: true, entries: 41 });
  });

  it('needs the key; reading does not', async () => {
    const id = await chain(1);
    const reader = await openStore(uri);
    expect((await reader.audit.entries(id, { limit: 9 })).length).toBe(1);
    await expect(reader.audit.append(id, event(9))).rejects.toThrow(/audit key/);
    await expect(reader.audit.verify(id)).rejects.toThrow(/audit key/);
    await reader.close();
    await expect(openStore(uri, { auditKey: Buffer.alloc(8) })).rejects.toThrow(/32 bytes/);
  });

  it('appends nothing after a forged entry: events are queued, and appended once it is removed (aua-010)', async () => {
    const id = await chain();
    await forgedEntry(id, 5);
    await expect(store.audit.append(id, event(5))).rejects.toThrow(/not written by Mayfly/);
    for (const n of [5, 6, 5]) expect(await store.audit.record(id, event(n))).toMatch(/not written by Mayfly/);
    expect(await store.audit.faults()).toMatchObject([{ sandboxId: id, waiting: 2 }]);
    expect(await store.audit.verify(id)).toMatchObject({ ok: false, waiting: 2, problems: [{ kind: 'inserted' }] });
    expect(await store.audit.appendWaiting()).toEqual([]);
    await entries().deleteOne({ _id: `${id}/5` });
    expect(await store.audit.record(id, event(7))).toBeNull(); // queued events come first
    const at = (await store.audit.entries(id, { after: 4, limit: 9 })).map(({ body }) => JSON.parse(body).eventId);
    expect(at).toEqual(['event-5', 'event-6', 'event-7']);
    expect(await store.audit.faults()).toEqual([]);
    expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 8, problems: [] });
  });

  const inTheWay: [what: string, foreign: (last: Record<string, unknown>) => Record<string, unknown>][] = [
    ['a copy of the last entry', (last) => last],
    ['one that is numbered as it stands, and linked to another', (last) => ({ ...last, seq: 5 })],
    ['one of another chain', (last) => ({ ...last, sandboxId: sandboxId(999), seq: 5 })],
    ['one without fields', () => ({})],
    ['one whose fields are of other types', () => ({ sandboxId: 1, seq: 'x', body: 7, hash: null, recent: 3 })],
  ];
  it.each(inTheWay)('never hangs on a foreign entry at the next number: %s', async (_what, foreign) => {
    const id = await chain();
    const { _id, ...last } = (await entries().findOne({ _id: `${id}/4` })) ?? { _id: '' };
    expect(_id).toBe(`${id}/4`);
    await entries().insertOne({ ...foreign(last), _id: `${id}/5` });
    const fresh = await openStore(uri, { auditKey }); // the next process
    for (const its of [store, fresh]) expect(await its.audit.record(id, event(5))).toContain(`${id}/5`);
    await fresh.close();
    expect(await store.audit.verify(id)).toMatchObject({ ok: false, waiting: 1 });
    await entries().deleteOne({ _id: `${id}/5` });
    expect(await store.audit.appendWaiting()).toContain(id);
    expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 6, problems: [] });
  });

  it('queues in memory while the store refuses every write of the audit', async () => {
    const id = await chain();
    const { Collection, MongoServerError } = mongoose.mongo;
    const refused = (['insertMany', 'insertOne', 'updateOne', 'bulkWrite'] as const).map((write) =>
      vi.spyOn(Collection.prototype, write).mockImplementation(function (this: { collectionName: string }) {
        return Promise.reject(new MongoServerError({ message: `${this.collectionName} is read-only`, code: 13 }));
      }),
    );
    for (const n of [5, 6, 5]) expect(await store.audit.record(id, event(n))).toMatch(/audit is read-only/);
    expect(await store.audit.appendWaiting()).not.toContain(id);
    expect((await store.audit.faults()).find(({ sandboxId: of }) => of === id)).toMatchObject({ waiting: 2 });
    for (const spy of refused) spy.mockRestore();
    expect(await store.audit.appendWaiting()).toContain(id);
    expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 7, problems: [] });
  });

  it('appends once after a kill in between, and ignores foreign entries of the queue', async () => {
    const id = await chain();
    await forgedEntry(id, 5);
    await store.audit.record(id, event(5));
    const [queued] = await queue().find({ sandboxId: id }).toArray();
    await entries().deleteOne({ _id: `${id}/5` });
    expect(await store.audit.appendWaiting()).toEqual([id]);
    await queue().insertOne({ ...queued, _id: String(queued?._id) }); // as after a crash before its removal
    await queue().insertOne({
      ...queued,
      _id: `${id}/aaaaaaaaaaaa`,
      body: '{"eventId":"mine","at":"2026"}',
      place: 'a',
    });
    await store.audit.appendWaiting();
    expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 6, waiting: 1, problems: [] });
    expect((await store.audit.faults()).filter(({ sandboxId: of }) => of === id)).toMatchObject([{ waiting: 1 }]);
    await queue().deleteMany({ sandboxId: id });
  });

  it.each(['nonsense', `${'0'.repeat(11)}9.${'a'.repeat(64)}.${'b'.repeat(64)}`])(
    'appends nothing after a forged head: %s',
    async (head) => {
      const id = await chain();
      const before = await heads().findOne({ _id: id });
      await heads().updateOne({ _id: id }, { $set: { head } });
      const fresh = await openStore(uri, { auditKey });
      expect(await fresh.audit.record(id, event(5))).toMatch(/head of the audit/);
      expect(await fresh.audit.verify(id)).toMatchObject({
        ok: false,
        waiting: 1,
        problems: [{ kind: 'forged-head' }],
      });
      expect((await heads().findOne({ _id: id }))?.head).toBe(head);
      await heads().updateOne({ _id: id }, { $set: { head: before?.head ?? '' } });
      expect(await fresh.audit.appendWaiting()).toEqual([id]);
      expect(await fresh.audit.verify(id)).toEqual({ ok: true, entries: 6, problems: [] });
      await fresh.close();
    },
  );

  it('stores a megabyte as its digest and start, and continues (aua-007)', async () => {
    const id = await chain(1);
    await store.audit.append(id, event(1, { result: 'x'.repeat(1_100_000) }));
    await store.audit.append(id, event(2));
    expect(await problemsOf(id)).toEqual([]);
    const [cut] = await store.audit.entries(id, { after: 0, limit: 1 });
    expect(JSON.parse(cut?.body ?? '').detail).toMatchObject({ cut: true, bytes: 1_100_013 });
    expect(cut?.body.length).toBeLessThan(10_000);
  });

  it.each([
    ['aua-012', { result: { B: 1, a: 2 } }],
    ['aua-013', { n: 9007199254740993n }],
    ['aua-014', { n: 1e21, m: 1e-7, k: 0.1, z: -0 }],
    ['aua-015', { result: Buffer.from('ff00fe', 'hex') }],
    ['aua-016', { result: '\ud800', astral: '😀' }],
    ['aua-017', { b: 1, a: 2, 10: 3, 9: 4 }],
    ['aua-018', { result: '<&>' }],
  ])('verifies stored text, also %s', async (_case, detail) => {
    const id = await chain(1);
    await store.audit.append(id, event(1, detail));
    expect(await problemsOf(id)).toEqual([]);
  });

  it('stores no recognizable secret (aua-019)', async () => {
    const id = await chain(1);
    await store.audit.append(id, event(1, { command: 'curl -u elastic:changeme' }));
    const stored = await entries().findOne({ _id: `${id}/1` });
    expect(JSON.stringify(stored)).not.toContain('changeme');
  });
});

describe('verifying', () => {
  it('finds a truncated tail (aua-001)', async () => {
    const id = await chain();
    await entries().deleteOne({ _id: `${id}/4` });
    expect(await problemsOf(id)).toEqual([[4, 'truncated']]);
  });

  it('finds a missing chain, with or without its head (aua-002)', async () => {
    const id = await chain();
    await entries().deleteMany({ sandboxId: id });
    expect((await problemsOf(id)).map(([, kind]) => kind)).toEqual(Array(5).fill('truncated'));
    await heads().deleteOne({ _id: id });
    expect(await problemsOf(id)).toEqual([[null, 'no-chain']]);
    const register = await store.audit.verifyRegister();
    expect((await store.audit.verifyAll(new Map(), register)).get(id)?.problems).toMatchObject([{ kind: 'gone' }]);
  });

  it('finds an edit, and a chain rebuilt without the key (aua-003, aua-004)', async () => {
    const id = await chain();
    await entries().updateOne({ _id: `${id}/2` }, { $set: { body: '{"at":"2026","eventId":"event-2"}' } });
    expect(await problemsOf(id)).toEqual([[2, 'edited']]);
    await rebuilt(id);
    const kinds = new Set((await problemsOf(id)).map(([, kind]) => kind));
    expect(kinds).toEqual(new Set(['forged-head', 'edited']));
  });

  it('finds gaps, repeats and swapped entries (aua-005)', async () => {
    const gap = await chain();
    await entries().deleteOne({ _id: `${gap}/2` });
    expect(await problemsOf(gap)).toEqual([[2, 'missing']]);

    const repeat = await chain();
    const copied = await entries().findOne({ _id: `${repeat}/1` });
    await entries().insertOne({ ...copied, _id: `${repeat}/9` });
    await entries().insertOne({ ...copied, _id: `${repeat}/5` });
    expect(await problemsOf(repeat)).toEqual([
      [5, 'reordered'],
      [null, 'inserted'],
    ]);

    const exchanged = await chain();
    const [a, b] = await Promise.all([1, 2].map((n) => entries().findOne({ _id: `${exchanged}/${n}` })));
    await entries().replaceOne({ _id: `${exchanged}/1` }, { ...b, _id: `${exchanged}/1` });
    await entries().replaceOne({ _id: `${exchanged}/2` }, { ...a, _id: `${exchanged}/2` });
    expect((await problemsOf(exchanged)).map(([, kind]) => kind)).toEqual(['reordered', 'reordered']);
  });

  it('finds entries of another sandbox, forged heads and missing heads', async () => {
    const id = await chain();
    const other = await chain();
    const foreign = await entries().findOne({ _id: `${other}/3` });
    await entries().replaceOne({ _id: `${id}/3` }, { ...foreign, _id: `${id}/3` });
    expect(await problemsOf(id)).toEqual([[3, 'edited']]);
    await heads().updateOne(
      { _id: other },
      { $set: { head: `${'0'.repeat(11)}3.${'a'.repeat(64)}.${'b'.repeat(64)}` } },
    );
    expect(await problemsOf(other)).toEqual([[null, 'forged-head']]);
    await heads().deleteOne({ _id: other });
    expect(await problemsOf(other)).toEqual([[null, 'forged-head']]);
  });

  it('flags a clock that went back, and accepts the chain (aua-006)', async () => {
    const id = await chain(1);
    await store.audit.append(id, { ...event(7), at: '2025-12-31T00:00:00.000Z' });
    const { ok, problems } = await store.audit.verify(id);
    expect([ok, problems.map(({ seq, kind }) => [seq, kind])]).toEqual([true, [[1, 'time-went-back']]]);
  });

  it('verifies all chains, even of unknown sandboxes', async () => {
    const id = await chain(2);
    await entries().deleteOne({ _id: `${id}/0` });
    const results = await store.audit.verifyAll(new Map(), await store.audit.verifyRegister());
    expect(results.get(id)?.problems).toMatchObject([{ seq: 0, kind: 'missing' }]);
  });
});
