import mongoose from 'mongoose';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../api/app.ts';
import type { App } from '../../api/http/context.ts';
import type { Store } from '../../store/connect.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { judgeRecords } from '../../worker/doctor/records.ts';
import { immediateSagas } from '../api/immediate-sagas.ts';
import { jsonOf, noGuests } from '../api/support.ts';
import { useStore } from '../support/use-store.ts';
import { functionRecord, functionVersion, runId, runRecord } from './run-records.ts';
import { scheduleRecord } from './schedule-records.ts';
import {
  auditEvent,
  captureRecord,
  command,
  commandId,
  imageRecord,
  record,
  sandboxId,
  snapshot,
  snapshotId,
} from './support.ts';
import { endpointId, endpointRecord, hookRecord } from './webhook-records.ts';

type Stored = Record<string, unknown> & { _id: string };

const at = '2026-01-01T00:00:00.000Z';
const hookId = (n: number) => `hok-${String(n).padStart(16, '0')}`;
const KEY_ID = '00000000000a';
const CAPTURE = captureRecord();

let store: Store;
let db: mongoose.Connection;
let app: App;
let authorization: string;
const reported: Unreadable[] = [];

useStore(
  async (opened) => {
    ({ store, db } = opened);
    const sagas = immediateSagas(store);
    app = createApp({ store, sagas, guests: noGuests, version: '0', logger: pino({ level: 'silent' }) });
    const key = await store.apiKeys.create({ project: 'default', name: 'test', scopes: ['operator'] });
    authorization = `Bearer ${key.secret}`;
    await fill();
  },
  { auditKey: Buffer.alloc(32, 7), onUnreadable: (one: Unreadable) => void reported.push(one) },
);

/** Stores two records of each kind. */
async function fill(): Promise<void> {
  const failure = { code: 'internal', step: 'saveSnapshot', message: 'broke' } as const;
  await store.functions.create(functionRecord());
  await store.captures.create(CAPTURE);
  await store.apiKeys.ensure(KEY_ID, { project: 'default', name: 'lost', scopes: ['admin'] });
  for (const n of [1, 2]) {
    const spec = { ...record(n).spec, metadata: { purpose: 'test' } };
    await store.sandboxes.create(record(n, { state: 'running', spec }));
    await store.snapshots.create(snapshot(n, { sandboxId: sandboxId(1), name: `s${n}`, state: 'ready', failure }));
    await store.commands.create(command(n));
    await store.runs.accept(runRecord(n), Buffer.from('{}'));
    await store.functionVersions.create({ ...functionVersion(), version: n });
    await store.hooks.create(hookRecord({ id: hookId(n) }));
    await store.webhookEndpoints.create(endpointRecord({ id: endpointId(n) }));
    await store.schedules.create(scheduleRecord({ name: `s${n}`, wakeAt: at }));
    await store.images.create(imageRecord({ id: `img-${String(n).padStart(16, '0')}` }));
    await store.audit.append(sandboxId(1), auditEvent({ eventId: `e${n}` }));
  }
}

/** Flips one bit of an encrypted field: of its content, or of the key id at its start. */
async function damage(collection: string, _id: string, field: string, byte = -1): Promise<() => Promise<void>> {
  const stored = db.collection<Stored>(collection);
  const found = await stored.findOne({ _id });
  const value = field.split('.').reduce<unknown>((part, name) => (part as Record<string, unknown>)?.[name], found);
  if (!(value instanceof mongoose.mongo.Binary)) throw new Error(`${collection}/${_id} has no encrypted ${field}`);
  const bytes = Buffer.from(value.buffer);
  const place = byte < 0 ? bytes.length + byte : byte;
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  await stored.updateOne({ _id }, { $set: { [field]: new mongoose.mongo.Binary(bytes, value.sub_type) } });
  return async () => void (await stored.updateOne({ _id }, { $set: { [field]: value } }));
}

const get = (path: string) => app.request(path, { headers: { Authorization: authorization } });
type List = { items: Record<string, unknown>[]; unreadable?: Unreadable[] };

describe('an unreadable record', () => {
  const image = (n: number) => `img-${String(n).padStart(16, '0')}`;
  it.each([
    ['/v1/runs', 'runs', runId(1), runId(2), 'event'],
    ['/v1/runs', 'runs', runId(1), runId(2), 'keys'],
    [`/v1/sandboxes/${sandboxId(1)}/commands`, 'commands', commandId(1), commandId(2), 'spec'],
    ['/v1/hooks?function=fn', 'hooks', hookId(1), hookId(2), 'secrets'],
    ['/v1/webhook-endpoints', 'webhookEndpoints', endpointId(1), endpointId(2), 'url'],
    ['/v1/schedules', 'schedules', 'default/s1', 's2', 'event'],
    ['/v1/functions/fn/versions', 'functionVersions', 'default/fn/0000001', '2', 'spec'],
    ['/v1/images', 'images', image(1), image(2), 'request'],
  ])('costs one line of %s (%s)', async (path, collection, bad, good, field) => {
    for (const byte of [-1, 0]) {
      const repair = await damage(collection, bad, field, byte);
      const response = await get(path);
      expect(response.status, await response.clone().text()).toBe(200);
      const { items, unreadable } = await jsonOf<List>(response);
      const ids = items.map((item) => String(item['id'] ?? item['version'] ?? item['name']));
      expect(ids).toEqual([good]);
      expect(unreadable).toEqual([{ id: bad, problem: expect.stringContaining(`collection \`${collection}\``) }]);
      await repair();
      expect((await jsonOf<List>(get(path))).unreadable).toBeUndefined();
    }
  });

  it.each([
    ['/v1/sandboxes', 'sandboxes', sandboxId(1), 'spec.metadata'],
    [`/v1/sandboxes/${sandboxId(1)}/snapshots`, 'snapshots', snapshotId(1), 'failure.message'],
  ])('stays in %s when only one of its texts is lost', async (path, collection, bad, field) => {
    const repair = await damage(collection, bad, field);
    const { items } = await jsonOf<List>(get(path));
    expect(items).toHaveLength(2);
    expect(JSON.stringify(items.find(({ id }) => id === bad))).toContain(`of ${bad} in the collection`);
    await repair();
  });

  it('of a sandbox ends like any other', async () => {
    await store.sandboxes.create(record(3, { state: 'running', spec: { ...record(3).spec, metadata: { a: 'b' } } }));
    await damage('sandboxes', sandboxId(3), 'spec.metadata');
    expect((await store.sandboxes.all(['running'])).map(({ id }) => id)).toContain(sandboxId(3));
    expect(await store.sandboxes.update(sandboxId(3), { state: 'destroyed' })).toMatchObject({ state: 'destroyed' });
  });

  it.each([
    ['sandboxes', sandboxId(1), 'project', () => store.sandboxes.get(sandboxId(1))],
    ['snapshots', snapshotId(1), 'project', () => store.snapshots.get(snapshotId(1))],
    ['snapshots', snapshotId(1), 'network', () => store.snapshots.get(snapshotId(1))],
    ['apiKeys', KEY_ID, 'project', () => store.apiKeys.get(KEY_ID)],
    ['captures', CAPTURE.id, 'project', () => store.captures.get(CAPTURE.id)],
    ['captures', CAPTURE.id, 'projects', () => store.captures.get(CAPTURE.id)],
    ['captures', CAPTURE.id, 'allowedEgress', () => store.captures.get(CAPTURE.id)],
  ])('of %s is damaged (%s, without its %s), and gets no default', async (collection, _id, field, read) => {
    const stored = db.collection<Stored>(collection);
    const whole = await stored.findOneAndUpdate({ _id }, { $unset: { [field]: '' } });
    await expect(read()).rejects.toMatchObject({
      code: 'record_damaged',
      message: expect.stringContaining(`has no ${field}`),
    });
    await stored.updateOne({ _id }, { $set: { [field]: whole?.[field] } });
    expect(await read()).not.toBeNull();
  });

  it('does not hide others from periodic tasks', async () => {
    await db.collection<Stored>('runs').updateMany({}, { $set: { untoldEnd: at, removeAfter: at, unsigned: at } });
    const repairs = [
      await damage('runs', runId(1), 'event'),
      await damage('schedules', 'default/s1', 'event'),
      await damage('webhookEndpoints', endpointId(1), 'url'),
    ];
    expect((await store.untoldRuns.due('2027', 9)).map(({ run }) => run.id)).toEqual([runId(2)]);
    expect((await store.pastRuns.unsigned('', 9)).runs.map(({ id }) => id)).toEqual([runId(2)]);
    expect((await store.pastRuns.past('', '2027', 9)).map(({ run }) => run.id).toSorted()).toEqual([
      runId(1),
      runId(2),
    ]);
    expect((await store.schedules.due('2027', 9)).map(({ name }) => name)).toEqual(['s1', 's2']);
    expect((await store.schedules.list('default')).map(({ name }) => name)).toEqual(['s2']);
    expect((await store.webhookEndpoints.list('default')).map(({ id }) => id)).toEqual([endpointId(2)]);
    for (const repair of repairs) await repair();
  });

  it.each([
    ['/v1/hooks', 'hooks', hookId(3), 'secrets'],
    ['/v1/webhook-endpoints', 'webhookEndpoints', endpointId(3), 'secrets'],
  ])('of %s can be deleted', async (path, collection, id, field) => {
    const found = await db.collection<Stored>(collection).findOne({});
    await db.collection<Stored>(collection).insertOne({ ...found, _id: id });
    await damage(collection, id, field);
    const headers = { Authorization: authorization };
    expect((await app.request(`${path}/${id}`, { method: 'DELETE', headers })).status).toBe(204);
    expect((await app.request(`${path}/${id}`, { method: 'DELETE', headers })).status).toBe(404);
  });

  it('of a schedule can be deleted, and is still read by its removal', async () => {
    await store.schedules.create(scheduleRecord({ name: 's3', wakeAt: at }));
    await damage('schedules', 'default/s3', 'event');
    const headers = { Authorization: authorization };
    expect((await app.request('/v1/schedules/s3', { method: 'DELETE', headers })).status).toBe(204);
    expect((await app.request('/v1/schedules/s3', { method: 'DELETE', headers })).status).toBe(404);
    expect((await store.schedules.due('2027', 9)).map(({ name }) => name)).toContain('s3');
    expect(await store.schedules.get({ project: 'default', name: 's3' })).toMatchObject({ past: [] });
  });

  it('of an audit is shown as damaged, in its position', async () => {
    for (const byte of [-1, 0]) {
      const repair = await damage('audit', `${sandboxId(1)}/0`, 'body', byte);
      const { items } = await jsonOf<List>(get(`/v1/sandboxes/${sandboxId(1)}/audit`));
      expect(items.map(({ seq }) => seq)).toEqual([0, 1]);
      await repair();
    }
  });

  it('is reported once to the operator, and by the doctor', async () => {
    const repairs = [await damage('runs', runId(1), 'event'), await damage('sandboxes', sandboxId(1), 'spec.metadata')];
    reported.length = 0;
    for (let n = 0; n < 3; n++) await store.sandboxes.all();
    expect(reported.filter(({ id }) => id === sandboxId(1)).length).toBeLessThanOrEqual(1);
    const checks = judgeRecords(await store.scanRecords(60_000));
    expect(checks.map(({ name, ok }) => [name, ok])).toEqual(
      expect.arrayContaining([
        [`record ${runId(1)}`, false],
        [`record ${sandboxId(1)}`, false],
      ]),
    );
    for (const repair of repairs) await repair();
  });
});
