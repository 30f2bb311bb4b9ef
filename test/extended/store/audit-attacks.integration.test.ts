import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent, AuditKind } from '../../../model/sandbox/audit.ts';
import { ChainKey, GENESIS } from '../../../store/audit/audit-chain.ts';
import { headText } from '../../../store/audit/audit-documents.ts';
import type { Store } from '../../../store/connect.ts';
import type { Anchor } from '../../../store/register/anchor.ts';
import { AnchorFiles } from '../../../worker/audit/anchor-files.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { verifyKeys } from '../../../worker/upkeep/audit.ts';
import { record, sandboxId } from '../../store/support.ts';
import { openStore } from '../../support/open-store.ts';
import { type StoreServer, startStoreServer } from '../../support/store-server.ts';

type Raw = Record<string, unknown> & { _id: string };
type Dump = Map<string, Raw[]>;

const auditKey = Buffer.alloc(32, 7);
const [LIVING, ENDED, SOURCE] = [sandboxId(1), sandboxId(2), 'src-0000000000000003'];
let server: StoreServer;
let closers: Closers;
let folder: string;
let uri: string;
let db: mongoose.Connection;
/** Store of the control worker. */
let store: Store;
let databases = 0;

beforeAll(async () => {
  server = await startStoreServer();
});
afterAll(() => server?.stop());

/**
 * Sets up a new installation: a sandbox that has run, one that has ended, a source and an API key, all in the register.
 */
beforeEach(async () => {
  closers = new Closers();
  folder = await mkdtemp(join(tmpdir(), 'mayfly-anchor-'));
  closers.add('folder', () => rm(folder, { recursive: true, force: true }));
  uri = server.uri.replace(/\/(test[^/?]*)/, (_all, name: string) => `/${name}-${++databases}`);
  db = await mongoose.createConnection(uri).asPromise();
  closers.add('db', () => db.close());
  store = await restarted();
  const runningAt = '2026-01-01T00:00:01.000Z';
  await store.sandboxes.create(record(1, { state: 'running', runningAt }));
  await store.sandboxes.create(record(2, { state: 'destroyed', runningAt }));
  for (const id of [LIVING, ENDED, SOURCE]) {
    for (let n = 0; n < 3; n++) await store.audit.append(id, event(n));
  }
  await store.apiKeys.ensure('0123456789ab', { project: 'default', name: 'k', scopes: ['sandboxes:read'] });
  await store.audit.noteKeys(await store.apiKeys.list());
});
afterEach(() => closers.close());

/** Opens the store of a control worker with nothing but the database and its folder. */
async function restarted(auditAnchor: Anchor = new AnchorFiles(join(folder, 'anchor'))): Promise<Store> {
  const fresh = await openStore(uri, { auditKey, auditAnchor });
  closers.add('store', () => fresh.close());
  return fresh;
}

function event(n: number, kind?: AuditKind): AuditEvent {
  const at = new Date(Date.UTC(2026, 0, 1) + n).toISOString();
  const chosen = kind ?? (n === 0 ? 'sandbox.requested' : 'sandbox.state');
  return { eventId: `event-${n}`, kind: chosen, actor: null, runId: 'run', hostId: 'kvm-1', at, detail: { n } };
}

const all = (name: string) => db.collection<Raw>(name);

/** Returns the problems that `mayfly audit verify` finds. */
async function found(): Promise<{ register: string[]; notes: string[]; chains: Record<string, string[]> }> {
  const walk = await store.audit.verifyRegister();
  const { problems, notes } = await verifyKeys(walk, store);
  const expected = new Map((await store.sandboxes.all()).map(({ id }) => [id, []]));
  const chains = await store.audit.verifyAll(expected, walk);
  const broken = [...chains].filter(([, { ok }]) => !ok);
  return {
    register: problems.map(({ number, kind }) => `${number ?? '-'} ${kind}`),
    notes,
    chains: Object.fromEntries(broken.map(([id, { problems: its }]) => [id, its.map(({ kind }) => kind)])),
  };
}

const WHOLE = { register: [], notes: [], chains: {} };

async function removeChain(id: string): Promise<void> {
  await all('audit').deleteMany({ sandboxId: id });
  await all('auditHeads').deleteOne({ _id: id });
}

async function dumped(): Promise<Dump> {
  const names = (await db.listCollections()).map(({ name }) => name).filter((name) => !name.startsWith('system.'));
  const dump: Dump = new Map();
  for (const name of names) dump.set(name, await all(name).find().toArray());
  return dump;
}

async function restore(dump: Dump): Promise<void> {
  for (const { name } of await db.listCollections()) {
    if (!name.startsWith('system.')) await all(name).deleteMany({});
  }
  for (const [name, documents] of dump) if (documents.length > 0) await all(name).insertMany(documents);
}

const tip = async () => (await all('auditRegister').find().sort({ _id: -1 }).limit(1).toArray())[0] as Raw;

it('an untouched installation is valid, also during appends', async () => {
  const more = Array.from({ length: 30 }, (_, n) => store.audit.append(sandboxId(100 + (n % 10)), event(n)));
  expect(await found()).toEqual(WHOLE);
  await Promise.all(more);
  await store.audit.noteHeads();
  expect(await found()).toEqual(WHOLE);
});

describe('a chain', () => {
  it.each([ENDED, SOURCE])('that is removed with head, record and hint of its birth is reported: %s', async (id) => {
    await removeChain(id);
    await all('endedSandboxes').deleteOne({ _id: id });
    await all('auditBirths').deleteOne({ _id: id });
    expect(await found()).toEqual({ ...WHOLE, chains: { [id]: ['gone'] } });
  });

  it.each([
    ['the hint stays', async () => {}],
    ['the hint is removed, and the record says that it ran', () => all('auditBirths').deleteMany({ _id: LIVING })],
  ])('of a living sandbox does not restart from GENESIS: %s', async (_case, alsoRemove) => {
    await removeChain(LIVING);
    await alsoRemove();
    store = await restarted();
    expect(await store.audit.record(LIVING, event(9))).toMatch(/has begun before/);
    expect(await all('auditHeads').findOne({ _id: LIVING })).toBeNull(); // a head from a backup fits in
    expect(await found()).toMatchObject({ register: [], chains: { [LIVING]: ['gone'] } });
  });

  it('that restarts, after record and hint were removed too, has two births', async () => {
    await removeChain(LIVING);
    for (const name of ['auditBirths', 'sandboxes']) await all(name).deleteOne({ _id: LIVING });
    store = await restarted();
    await store.audit.append(LIVING, event(9, 'sandbox.record-restored'));
    expect((await found()).chains).toEqual({ [LIVING]: ['restarted', 'rolled-back'].slice(0, 1) });
  });

  it('that is restored from a backup accepts the waiting events', async () => {
    const before = await dumped();
    await removeChain(LIVING);
    store = await restarted();
    await store.audit.record(LIVING, event(9));
    for (const name of ['audit', 'auditHeads']) {
      const its = before.get(name)?.filter(({ _id }) => _id.startsWith(LIVING)) ?? [];
      await all(name).insertMany(its);
    }
    expect(await store.audit.appendWaiting()).toEqual([LIVING]);
    expect(await found()).toEqual(WHOLE);
    expect((await store.audit.head(LIVING))?.count).toBe(4);
  });

  it('that was removed does not restart on a new request, and a backup of its entries repairs it', async () => {
    const its = (await dumped()).get('audit')?.filter(({ _id }) => _id.startsWith(LIVING)) ?? [];
    await removeChain(LIVING);
    store = await restarted();
    expect(await store.audit.record(LIVING, event(9, 'sandbox.requested'))).toMatch(/has begun before/);
    expect((await found()).chains).toEqual({ [LIVING]: ['rolled-back'] });
    await all('audit').insertMany(its);
    expect(await store.audit.appendWaiting()).toEqual([LIVING]);
    expect(await found()).toEqual(WHOLE);
    expect((await store.audit.head(LIVING))?.count).toBe(4);
  });

  it.each([LIVING, SOURCE])('that is set back with its head to an older state is reported: %s', async (id) => {
    const before = await all('auditHeads').findOne({ _id: id });
    for (const n of [3, 4]) await store.audit.append(id, event(n));
    await store.audit.noteHeads();
    await all('audit').deleteMany({ _id: { $in: [`${id}/3`, `${id}/4`] } });
    await all('auditHeads').replaceOne({ _id: id }, before as Raw);
    expect((await store.audit.verify(id)).ok).toBe(true); // the attack: in isolation it is valid
    expect(await found()).toEqual({ ...WHOLE, chains: { [id]: ['rolled-back'] } });
    store = await restarted();
    for (const n of [5, 6]) await store.audit.append(id, event(n)); // it grows beyond the cut
    expect((await found()).chains).toEqual({ [id]: ['restarted'] });
  });

  it('whose writer died before it noted the head is noted by the next one', async () => {
    const before = await all('auditHeads').findOne({ _id: LIVING });
    await store.audit.append(LIVING, event(3));
    store = await restarted();
    await store.audit.catchUp();
    await all('audit').deleteOne({ _id: `${LIVING}/3` });
    await all('auditHeads').replaceOne({ _id: LIVING }, before as Raw);
    expect((await found()).chains).toEqual({ [LIVING]: ['rolled-back'] });
  });

  it('that was just born and is cut back to its earlier head of length 0 is reported', async () => {
    const id = sandboxId(9);
    await store.audit.append(id, event(0));
    const head = headText(new ChainKey(auditKey).head(id, 0, GENESIS)); // as a reader of the store has seen it
    await all('audit').deleteMany({ sandboxId: id });
    await all('auditHeads').updateOne({ _id: id }, { $set: { head } });
    expect((await found()).chains).toEqual({ [id]: ['rolled-back'] });
  });

  it('that retention removed is distinguished from one removed by an attacker', async () => {
    await store.auditRetention.remove(ENDED);
    expect(await found()).toEqual(WHOLE);
    await removeChain(ENDED);
    expect(await found()).toEqual(WHOLE); // the remains contain nothing beyond the register
    await removeChain(SOURCE);
    expect((await found()).chains).toEqual({ [SOURCE]: ['gone'] });
  });

  it('is not removed by retention when the register is invalid', async () => {
    const { hash, ...rest } = await tip();
    await all('auditRegister').insertOne({ ...rest, _id: '000000000099', hash });
    await all('auditRegister').deleteOne({ _id: rest._id });
    const fresh = await restarted();
    await rm(join(folder, 'anchor'), { recursive: true });
    await expect(fresh.auditRetention.remove(ENDED)).rejects.toThrow(/not written by Mayfly/);
    expect(await all('audit').countDocuments({ sandboxId: ENDED })).toBe(3);
  });
});

describe('an API key', () => {
  it('that is removed, changed or reactivated is reported', async () => {
    await all('apiKeys').updateOne({ _id: '0123456789ab' }, { $set: { scopes: ['admin'] } });
    expect((await found()).register).toEqual(['- key']);
    await all('apiKeys').deleteMany({});
    expect((await found()).register).toEqual(['- key']);
  });

  it('that was reactivated for a while stays reported', async () => {
    await store.apiKeys.revoke('0123456789ab');
    await store.audit.noteKeys(await store.apiKeys.list());
    expect(await found()).toEqual(WHOLE);
    await all('apiKeys').updateOne({ _id: '0123456789ab' }, { $set: { revokedAt: null } });
    expect((await found()).register).toEqual(['- key']);
    store = await restarted();
    await store.audit.noteKeys(await store.apiKeys.list());
    await store.apiKeys.revoke('0123456789ab');
    expect((await found()).register).toEqual([expect.stringMatching(/^\d+ key$/), '- key']);
  });

  it('whose creation is removed from the register is reported', async () => {
    const entries = await all('auditRegister').find().toArray();
    const made = entries.find(({ body }) => String(body).includes('"key"')) as Raw;
    await all('auditRegister').deleteOne({ _id: made._id });
    await all('apiKeys').deleteMany({});
    expect((await found()).register).toEqual([`${Number(made._id)} truncated`]);
    await store.audit.noteHeads();
    expect((await found()).register).toEqual([`${Number(made._id)} missing`]);
  });
});

describe('the register', () => {
  it.each([
    ['dropped', '2 missing', () => all('auditRegister').deleteOne({ _id: '000000000002' })],
    [
      'edited',
      '2 edited',
      () => all('auditRegister').updateOne({ _id: '000000000002' }, { $set: { body: '{"at":"2026","facts":[]}' } }),
    ],
    [
      'inserted',
      '- inserted',
      () => all('auditRegister').insertOne({ _id: 'x', body: '', previousHash: '', hash: '' }),
    ],
  ])('of which an entry is %s is reported', async (_how, problem, attack) => {
    await attack();
    expect((await found()).register).toContain(problem);
  });

  it('with exchanged entries is reported', async () => {
    const [a, b] = (await all('auditRegister')
      .find({ _id: { $in: ['000000000001', '000000000002'] } })
      .toArray()) as [Raw, Raw];
    await all('auditRegister').replaceOne({ _id: a._id }, { ...b, _id: a._id });
    await all('auditRegister').replaceOne({ _id: b._id }, { ...a, _id: b._id });
    expect((await found()).register).toEqual(['1 edited', '2 edited']);
  });

  it('with a forged last entry stops no known chain, and delays new ones until it is removed', async () => {
    const number = Number((await tip())._id) + 1;
    const forged = { _id: String(number).padStart(12, '0'), body: '{}', previousHash: 'x', hash: 'y' };
    await all('auditRegister').insertOne(forged);
    store = await restarted();
    expect(await store.audit.record(LIVING, event(3))).toBeNull();
    expect(await store.audit.record(sandboxId(9), event(0))).toMatch(/not written by Mayfly/);
    expect((await found()).register).toEqual([`${number} edited`]);
    await all('auditRegister').deleteOne({ _id: forged._id });
    expect(await store.audit.appendWaiting()).toEqual([sandboxId(9)]);
    expect(await found()).toEqual(WHOLE);
  });

  it('that is cut at its end is reported by the anchor, and later entries leave the gap', async () => {
    const last = await tip();
    await all('auditRegister').deleteOne({ _id: last._id });
    expect((await found()).register).toEqual([`${Number(last._id)} truncated`, '- key'].slice(0, 1));
    store = await restarted();
    await store.audit.append(sandboxId(9), event(0));
    expect((await found()).register).toEqual([`${Number(last._id)} missing`]);
    await all('auditRegister').insertOne(last);
    expect(await found()).toEqual(WHOLE);
  });

  it('of a store replaced by an older dump reports the missing entries with their time', async () => {
    const before = await dumped();
    const first = Number((await tip())._id) + 1;
    for (const n of [10, 11, 12]) await store.audit.append(sandboxId(n), event(0));
    const end = await tip();
    await restore(before);
    store = await restarted();
    const { problems } = await store.audit.verifyRegister();
    const at = (JSON.parse(String(end['body'])) as { at: string }).at;
    const entries = `entries ${first} to ${first + 2} are missing`;
    const detail = `${entries}, which the anchor knows, made at ${at}: the store was set back or cut`;
    expect(problems).toEqual([{ number: first, kind: 'truncated', detail }]);
    await store.audit.append(sandboxId(10), event(0)); // a workflow continues
    expect((await found()).register).toEqual([`${first} missing`]);
    await store.audit.acceptLoss('restored from the backup of Monday');
    expect((await found()).register).toEqual([]);
    expect((await found()).notes).toEqual([expect.stringContaining('backup of Monday')]);
  });

  it('of an emptied database is reported', async () => {
    const { length } = await all('auditRegister').find().toArray();
    await restore(new Map());
    store = await restarted();
    expect((await store.audit.verifyRegister()).problems).toMatchObject([
      { kind: 'truncated', detail: expect.stringContaining(`entries 0 to ${length - 1} are missing`) },
    ]);
    await store.audit.append(LIVING, event(9));
    expect((await found()).register).toEqual(['0 missing']);
  });
});

describe('the anchor', () => {
  it('is one file that only its owner reads', async () => {
    const [name, ...others] = await readdir(join(folder, 'anchor'));
    expect(others).toEqual([]);
    expect((await stat(join(folder, 'anchor'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'anchor', String(name)))).mode & 0o777).toBe(0o600);
    const { _id, hash } = await tip();
    expect(JSON.parse(await readFile(join(folder, 'anchor', String(name)), 'utf8'))).toMatchObject({
      number: Number(_id),
      hash,
    });
  });

  it('that is missing is reported, and recreated with a permanent note', async () => {
    await rm(join(folder, 'anchor'), { recursive: true });
    expect((await found()).register).toEqual(['- anchor']);
    store = await restarted();
    await store.audit.append(sandboxId(9), event(0));
    expect(await found()).toEqual({ ...WHOLE, notes: [expect.stringContaining('missing or old')] });
  });

  it('that is an older copy is reported', async () => {
    await cp(join(folder, 'anchor'), join(folder, 'copy'), { recursive: true });
    for (let n = 10; n < 27; n++) await store.audit.append(sandboxId(n), event(0));
    await rm(join(folder, 'anchor'), { recursive: true });
    await cp(join(folder, 'copy'), join(folder, 'anchor'), { recursive: true });
    const { problems } = await store.audit.verifyRegister();
    expect(problems).toMatchObject([{ kind: 'anchor', detail: expect.stringContaining('17 more') }]);
  });

  it('is awaited by the first append and by the next, in one process or two', async () => {
    const [id, files] = [sandboxId(9), new AnchorFiles(join(folder, 'anchor'))];
    let free = () => {};
    const isFree = new Promise<void>((resolve) => (free = resolve));
    const slow = await restarted({ read: () => files.read(), put: (at) => isFree.then(() => files.put(at)) });
    let done = 0;
    const first = slow.audit.append(id, event(0)).then(() => done++);
    await expect.poll(async () => (await store.audit.head(id))?.count).toBe(1); // written concurrently with the anchor
    const next = slow.audit.append(id, event(1)).then(() => done++);
    await expect.poll(() => all('audit').countDocuments({ sandboxId: id })).toBe(2);
    expect(await all('auditBirths').findOne({ _id: id })).toBeNull(); // else another process would not wait
    expect(done).toBe(0);
    const before = await files.read();
    await store.audit.append(id, event(2)); // by an anchor of its own
    expect((await files.read())?.number).toBeGreaterThan(before?.number ?? 0);
    expect(await found()).toEqual(WHOLE);
    free();
    await Promise.all([first, next]);
    expect(await found()).toEqual(WHOLE);
  });

  it.each<[where: string, gone: readonly string[]]>([
    ['before the birth is marked', ['auditBirths']],
    ['before the birth is told', ['auditBirths', 'auditRegister', 'auditHeads']],
  ])('of a worker that is killed %s is completed by the next append', async (_where, gone) => {
    const id = sandboxId(9);
    const before = await dumped();
    await cp(join(folder, 'anchor'), join(folder, 'copy'), { recursive: true });
    await store.audit.append(id, event(0));
    await store.close(); // its background writes are complete by now
    for (const name of gone) {
      await all(name).deleteMany({});
      await all(name).insertMany(before.get(name) ?? []);
    }
    if (gone.includes('auditRegister')) {
      await all('auditHeads').insertOne({ _id: id, head: headText(new ChainKey(auditKey).head(id, 0, GENESIS)) });
      await rm(join(folder, 'anchor'), { recursive: true });
      await cp(join(folder, 'copy'), join(folder, 'anchor'), { recursive: true });
    }
    store = await restarted();
    await store.audit.append(id, event(1));
    expect(await found()).toEqual(WHOLE);
    expect((await store.audit.head(id))?.count).toBe(2);
    await removeChain(id);
    await all('auditBirths').deleteOne({ _id: id });
    expect((await found()).chains).toEqual({ [id]: ['gone'] });
  });

  it('that cannot be written delays the births of new chains, and no other event', async () => {
    const anchor = join(folder, 'anchor');
    await rm(anchor, { recursive: true });
    await writeFile(anchor, 'in the way');
    expect(await store.audit.record(LIVING, event(3))).toBeNull();
    for (const n of [0, 1]) expect(await store.audit.record(sandboxId(9), event(n))).toMatch(/anchor .* can't be/);
    const { length } = await all('auditRegister').find().toArray();
    expect(await store.audit.appendWaiting()).toEqual([]);
    expect((await all('auditRegister').find().toArray()).length).toBe(length); // no entry for each try
    await rm(anchor);
    expect(await store.audit.appendWaiting()).toEqual([sandboxId(9)]);
    expect((await found()).chains).toEqual({});
    expect((await found()).register).toEqual([]);
  });

  it('that lacks the last entry of a killed process is valid', async () => {
    const [name = ''] = await readdir(join(folder, 'anchor'));
    const before = await readFile(join(folder, 'anchor', name), 'utf8');
    await store.audit.append(sandboxId(9), event(0));
    await rm(join(folder, 'anchor'), { recursive: true });
    await new AnchorFiles(join(folder, 'anchor')).put(JSON.parse(before));
    store = await restarted();
    expect(await found()).toEqual(WHOLE);
    await store.audit.append(sandboxId(10), event(0));
    expect(await found()).toEqual(WHOLE);
  });

  it('is not set back by two control workers with one folder', async () => {
    const other = await restarted();
    const ids = Array.from({ length: 40 }, (_, n) => sandboxId(100 + n));
    await Promise.all(ids.map((id, n) => (n % 2 ? store : other).audit.append(id, event(0))));
    expect(await found()).toEqual(WHOLE);
    const names = await readdir(join(folder, 'anchor'));
    expect(names.toSorted().at(-1)).toBe(`${(await tip())._id}.json`);
  });
});

it('a register that was removed with its anchor makes every chain unborn', async () => {
  for (const name of ['auditRegister', 'auditBirths']) await all(name).deleteMany({});
  await rm(join(folder, 'anchor'), { recursive: true });
  store = await restarted();
  const unborn = ['unborn'];
  expect((await found()).chains).toEqual({ [LIVING]: unborn, [ENDED]: unborn, [SOURCE]: unborn });
});

it('a chain inserted from another installation is reported', async () => {
  const elsewhere = uri.replace(/\/(test[^/?]*)/, '/$1-other');
  const other = await openStore(elsewhere, { auditKey });
  closers.add('other', () => other.close());
  await other.audit.append(sandboxId(9), event(0));
  const there = await mongoose.createConnection(elsewhere).asPromise();
  closers.add('there', () => there.close());
  for (const name of ['audit', 'auditHeads']) {
    await all(name).insertMany(await there.collection<Raw>(name).find().toArray());
  }
  expect((await found()).chains).toEqual({ [sandboxId(9)]: ['unborn'] });
});
