import mongoose from 'mongoose';
import { describe, expect, it } from 'vitest';
import { connectStore, type Store } from '../../../store/connect.ts';
import { reencrypt } from '../../../store/reseal.ts';
import { documentOf } from '../../../store/sandboxes/sandbox-document.ts';
import type { StoreKey, StoreKeys } from '../../../store/sealed/seal.ts';
import { auditEvent, command, commandId, record, sandboxId } from '../../store/support.ts';
import { hookRecord } from '../../store/webhook-records.ts';
import { openStore, STORE_KEYS } from '../../support/open-store.ts';
import { useStore } from '../../support/use-store.ts';

type Stored = Record<string, unknown> & { _id: string };

const OTHER_KEY: StoreKey = { id: 'ffeeddccbbaa9988', key: new Uint8Array(32).fill(6) };
const auditKey = Buffer.alloc(32, 7);
const ENTRY = auditEvent({ detail: { said: 'correct horse' } });

let storeUri: string;
let store: Store;
let db: mongoose.Connection;
const collection = (name: string) => db.collection<Stored>(name);
useStore(
  async (opened) => {
    ({ store, db, uri: storeUri } = opened);
    for (const n of [1, 2]) await store.commands.create(command(n));
  },
  { auditKey },
);

async function raw(name: string, _id: string): Promise<Stored> {
  const found = await collection(name).findOne({ _id });
  if (!found) throw new Error(`there is no ${name}/${_id}`);
  return found;
}

/** Returns the URI of a new store, whose keys may change. */
async function elsewhere(): Promise<string> {
  const url = new URL(storeUri);
  url.pathname = `${url.pathname}-${Math.random().toString(36).slice(2)}`;
  return url.href;
}

describe('an encrypted value', () => {
  it('is refused in another document, in another field, and after a change of one bit', async () => {
    const one = await raw('commands', commandId(1));
    const two = await raw('commands', commandId(2));
    const damaged = expect.objectContaining({ code: 'record_damaged' });
    const bits = new mongoose.mongo.Binary(Buffer.from((one['spec'] as { buffer: Uint8Array }).buffer), 0x80);
    bits.buffer[40] = (bits.buffer[40] ?? 0) ^ 1;
    for (const change of [{ spec: two['spec'] }, { spec: bits }]) {
      await collection('commands').updateOne({ _id: commandId(1) }, { $set: change });
      await expect(store.commands.get(commandId(1))).rejects.toEqual(damaged);
      await collection('commands').updateOne({ _id: commandId(1) }, { $set: { spec: one['spec'], reason: null } });
      expect(await store.commands.get(commandId(1))).toEqual(command(1));
    }
    await collection('commands').updateOne({ _id: commandId(1) }, { $set: { reason: one['spec'] } });
    expect((await store.commands.get(commandId(1)))?.reason).toContain(commandId(1));
    await collection('commands').updateOne({ _id: commandId(1) }, { $set: { reason: null } });
  });

  it('differs each time for the same value', async () => {
    const chunk = { bytes: Buffer.from('the same'), marks: [{ position: 0, atMs: 1, offset: 0 }] };
    const seen: string[] = [];
    for (const _ of [1, 2]) {
      await store.output.put(commandId(1), 'stdout', 0, chunk);
      seen.push(JSON.stringify(await raw('output', `${commandId(1)}/stdout/0`)));
    }
    expect(seen[0]).not.toBe(seen[1]);
    expect(Buffer.from((await store.output.chunk(commandId(1), 'stdout', 0))?.bytes ?? [])).toEqual(chunk.bytes);
  });

  it('is also the key of a relay', async () => {
    await store.relays.announce('kvm-2', { url: 'https://[::1]:1', key: 'c0ffee' });
    expect(JSON.stringify(await raw('relays', 'kvm-2'))).not.toContain('c0ffee');
    expect((await raw('relays', 'kvm-2'))['key']).toMatchObject({ sub_type: 0x80 });
    expect(await store.relays.get('kvm-2')).toMatchObject({ url: 'https://[::1]:1', key: 'c0ffee' });
  });

  it('is a secret of a hook, also after a rotation', async () => {
    const of = hookRecord({ secrets: ['correct horse'] });
    await store.hooks.create(of);
    expect(JSON.stringify(await raw('hooks', of.id))).not.toContain('horse');
    await store.hooks.change(of.id, { secrets: ['battery staple', 'correct horse'] });
    expect((await raw('hooks', of.id))['secrets']).toMatchObject({ sub_type: 0x80 });
    expect((await store.hooks.get(of.id))?.secrets).toEqual(['battery staple', 'correct horse']);
  });

  it('moves with a record that ends', async () => {
    const metadata = { purpose: 'correct horse' };
    const living = record(7, { state: 'running', spec: { ...record(7).spec, metadata }, waitingFor: 'a host' });
    await store.sandboxes.create(living);
    await store.sandboxes.update(living.id, {
      state: 'failed',
      failure: { code: 'boot_failed', step: 'bootDomain', message: 'it said so' },
    });
    expect(JSON.stringify(await raw('endedSandboxes', living.id))).not.toMatch(/correct horse|it said so|a host/);
    expect(await store.sandboxes.get(living.id)).toMatchObject({
      spec: { metadata },
      failure: { message: 'it said so' },
    });
  });
});

describe('a plaintext value where an encrypted one belongs', () => {
  it('is a damaged record', async () => {
    const { id: _id, ...rest } = command(3);
    const damaged = { code: 'record_damaged', message: expect.stringContaining('is not encrypted') };
    await collection('commands').insertOne({ _id, ...rest });
    await expect(store.commands.get(_id)).rejects.toMatchObject(damaged);
    await collection('output').insertOne({ _id: `${_id}/stdout/0`, bytes: Buffer.from('old'), marks: Buffer.from([]) });
    await expect(store.output.read(_id, 'stdout', 0, 10)).rejects.toMatchObject(damaged);
    await collection('relays').insertOne({ _id: 'before', url: 'https://[::1]:1', key: '00ff' });
    await expect(store.relays.get('before')).rejects.toMatchObject(damaged);
    await collection('sandboxes').insertOne({ ...documentOf(record(8, { waitingFor: 'a host' })) });
    expect((await store.sandboxes.get(sandboxId(8)))?.waitingFor).toContain('is not encrypted');
  });

  it('is an edited entry of the audit', async () => {
    const id = sandboxId(9);
    await store.audit.append(id, ENTRY);
    const [entry] = await store.audit.entries(id, { limit: 1 });
    await collection('audit').updateOne({ _id: `${id}/0` }, { $set: { body: entry?.body } });
    expect((await store.audit.verify(id)).problems).toMatchObject([{ seq: 0, kind: 'edited' }]);
  });
});

describe('keys', () => {
  it('rotate like those of payloads: added below, then moved to the top, then the old one is removed', async () => {
    const uri = await elsewhere();
    const [first] = STORE_KEYS;
    const steps = [[first], [first, OTHER_KEY], [OTHER_KEY, first]] as const;
    for (const [n, keys] of steps.entries()) {
      const opened = await openStore(uri, { keys });
      await opened.commands.create(command(n));
      for (let before = 0; before <= n; before++) {
        expect(await opened.commands.get(commandId(before))).toEqual(command(before));
      }
      await opened.close();
    }
    const after = await openStore(uri, { keys: [OTHER_KEY] });
    expect(await after.commands.get(commandId(2))).toEqual(command(2));
    await expect(after.commands.get(commandId(0))).rejects.toMatchObject({
      code: 'payload_key_unusable',
      message: expect.stringContaining(`is encrypted with the key ${first.id}, and this process has ${OTHER_KEY.id}`),
    });
    await after.close();
  });

  it('that do not match the store decrypt nothing, also with concurrent first connections', async () => {
    const refused = { code: 'payload_key_unusable', message: expect.stringContaining(STORE_KEYS[0].id) };
    await expect(openStore(storeUri, { keys: [OTHER_KEY] })).rejects.toMatchObject(refused);
    const uri = await elsewhere();
    const two = await Promise.allSettled(
      [[STORE_KEYS[0]], [OTHER_KEY]].map(([key]) => openStore(uri, { keys: [key as StoreKey] })),
    );
    expect(two.filter(({ status }) => status === 'fulfilled').length).toBe(1);
    for (const one of two) if (one.status === 'fulfilled') await one.value.close();
  });

  it('are recorded again in a store whose record of them was blanked', async () => {
    const uri = await elsewhere();
    const there = await mongoose.createConnection(uri).asPromise();
    await there.collection<Stored>('layout').insertOne({ _id: 'key' });
    await (await openStore(uri)).close();
    await expect(openStore(uri, { keys: [OTHER_KEY] })).rejects.toMatchObject({ code: 'payload_key_unusable' });
    await there.close();
  });

  it('are not recorded by a reader', async () => {
    const uri = await elsewhere();
    for (const key of [OTHER_KEY, STORE_KEYS[0]]) await (await connectStore(uri, { keys: [key] })).close();
    await (await openStore(uri)).close();
    await expect(connectStore(uri, { keys: [OTHER_KEY] })).rejects.toMatchObject({ code: 'payload_key_unusable' });
  });

  it('are not needed for plaintext fields, and without them no secret is written in plaintext', async () => {
    const keyless = await connectStore(storeUri);
    const refused = { code: 'payload_key_unusable', message: expect.stringContaining('was given no key') };
    try {
      expect((await keyless.apiKeys.create({ project: 'default', name: 'first', scopes: ['operator'] })).key.name).toBe(
        'first',
      );
      await expect(keyless.commands.get(commandId(2))).rejects.toMatchObject(refused);
      await expect(keyless.commands.create(command(5))).rejects.toMatchObject(refused);
      await expect(keyless.relays.announce('kvm-1', { url: 'https://[::1]:1', key: '00' })).rejects.toMatchObject(
        refused,
      );
    } finally {
      await keyless.close();
    }
  });
});

describe('a reencryption', () => {
  /** Adds a document to each collection with encrypted values. */
  async function fill(filled: Store): Promise<void> {
    const spec = { ...record(20).spec, metadata: { purpose: 'correct horse' } };
    await filled.sandboxes.create(record(20, { state: 'running', spec }));
    await filled.sandboxes.create(record(21, { state: 'destroyed', spec }));
    await filled.commands.create(command(20));
    await filled.commandInputs.keep(commandId(20), { env: { A: 'correct horse' }, stdin: Buffer.from('x') });
    const marks = [{ position: 0, atMs: 1, offset: 0 }];
    for (let n = 0; n < 20; n++)
      await filled.output.put(commandId(20), 'stdout', n, { bytes: Buffer.from('x'), marks });
    await filled.relays.announce('kvm-1', { url: 'https://[::1]:1', key: '00ff' });
    await filled.audit.append(sandboxId(20), ENTRY);
  }
  const DOCUMENTS = 2 + 2 + 20 + 1 + 1;

  it('makes an older key unnecessary', async () => {
    const uri = await elsewhere();
    const before = await openStore(uri, { auditKey });
    await fill(before);
    await before.close();
    const both: StoreKeys = [OTHER_KEY, ...STORE_KEYS];
    await (await openStore(uri, { keys: both })).close();
    expect(await reencrypt(uri, both)).toEqual({ sealed: DOCUMENTS, unreadable: [] });
    expect(await reencrypt(uri, both)).toEqual({ sealed: 0, unreadable: [] });
    const after = await openStore(uri, { auditKey, keys: [OTHER_KEY] });
    try {
      expect((await after.sandboxes.all()).map(({ spec }) => spec.metadata['purpose'])).toEqual(
        Array(2).fill('correct horse'),
      );
      expect(await after.commands.get(commandId(20))).toEqual(command(20));
      expect((await after.commandInputs.get(commandId(20)))?.env).toEqual({ A: 'correct horse' });
      expect(await after.relays.get('kvm-1')).toMatchObject({ key: '00ff' });
      expect(await after.audit.verify(sandboxId(20))).toMatchObject({ ok: true, entries: 1 });
      expect((await after.output.last(commandId(20), 'stdout'))?.n).toBe(19);
    } finally {
      await after.close();
    }
  });

  it('keeps undecryptable values, and plaintext', async () => {
    const uri = await elsewhere();
    await (await openStore(uri)).close();
    const there = await mongoose.createConnection(uri).asPromise();
    const { id: _id, ...rest } = command(30);
    const damaged = { _id: commandId(31), spec: new mongoose.mongo.Binary(Buffer.alloc(60), 0x80) };
    await there.collection<Stored>('commands').insertMany([{ _id, ...rest }, damaged]);
    const { sealed, unreadable } = await reencrypt(uri, STORE_KEYS);
    expect([sealed, unreadable.map(({ id }) => id)]).toEqual([0, [_id, commandId(31)]]);
    await there.close();
  });
});

describe('the audit', () => {
  it('reports a body copied from another entry as edited', async () => {
    const id = sandboxId(10);
    for (const eventId of ['e1', 'e2']) await store.audit.append(id, { ...ENTRY, eventId });
    const { body } = await raw('audit', `${id}/1`);
    await collection('audit').updateOne({ _id: `${id}/0` }, { $set: { body } });
    expect((await store.audit.verify(id)).problems).toMatchObject([{ seq: 0, kind: 'edited' }]);
  });

  it('blocks no sandbox whose chain was written with a missing key', async () => {
    const uri = await elsewhere();
    const id = sandboxId(11);
    const before = await openStore(uri, { auditKey });
    await before.audit.append(id, ENTRY);
    await before.close();
    const gone = await openStore(uri, { auditKey, keys: [OTHER_KEY, ...STORE_KEYS] });
    await gone.close(); // the encryption key has changed
    const after = await openStore(uri, { auditKey, keys: [OTHER_KEY] });
    try {
      expect(await after.audit.record(id, ENTRY)).toContain(STORE_KEYS[0].id);
      expect(await after.audit.record(id, { ...ENTRY, eventId: 'e2' })).toContain(STORE_KEYS[0].id);
      await expect(after.audit.verify(id)).rejects.toMatchObject({ code: 'payload_key_unusable' });
    } finally {
      await after.close();
    }
    const back = await openStore(uri, { auditKey, keys: [OTHER_KEY, ...STORE_KEYS] });
    try {
      expect(await back.audit.appendWaiting()).toEqual([id]);
      expect(await back.audit.verify(id)).toMatchObject({ ok: true, entries: 2 });
    } finally {
      await back.close();
    }
  });
});

it('exports of the retention are decrypted, so that they can be read without a key', async () => {
  const id = sandboxId(12);
  const ended = record(12, { state: 'destroyed', spec: { ...record(12).spec, metadata: { purpose: 'tests' } } });
  await store.sandboxes.create(ended);
  await store.commands.create(command(12, { sandboxId: id }));
  const exported: Stored[] = [];
  for await (const { document } of store.retention.documents(id)) exported.push(document);
  expect(exported).toMatchObject([
    { spec: { metadata: [{ name: 'purpose', value: 'tests' }] } },
    { spec: command(12).spec },
  ]);
});
