import { join } from 'node:path';
import mongoose from 'mongoose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import { connectStore, type Store } from '../../../store/connect.ts';
import { inspectStore } from '../../../store/look.ts';
import { ApiTemporalClient } from '../../../temporal/temporal-sagas.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { readConfig } from '../../../worker/config/config.ts';
import { createDataConverter, temporalClient } from '../../../worker/payloads/data-converter.ts';
import { type PayloadKeys, payloadKeys } from '../../../worker/payloads/payload-keys.ts';
import { connectTemporal } from '../../../worker/servers/temporal.ts';
import { startTemporalServer } from '../../../worker/servers/temporal-server.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { eventually } from '../../support/eventually.ts';
import { MayflyProcess, noProcessOf } from '../../support/mayfly-process.ts';
import { FORBIDDEN, RARE } from '../../support/rights-tables.ts';
import { type ProcessName, RIGHTS, StoreGuard } from '../../support/store-guard.ts';
import { startStoreServer } from '../../support/store-server.ts';
import { makeCertificates, proxyTls, temporalTls } from '../../support/temporal-certificates.ts';

const listening = z.object({ url: z.string() });
const proxied = z.object({ address: z.string() });
const made = z.object({ secret: z.string() });
const closers = new Closers();
const logs = new Map<ProcessName, MayflyProcess>();
const guards = new Map<ProcessName, StoreGuard>();
let client: MayflyClient;
/** Environment of the host's connection to Temporal. */
let asHost: NodeJS.ProcessEnv;
let url: string;
let secret: string;
let store: Store;

let keys: PayloadKeys;
beforeAll(async () => {
  const { state, remove } = await temporaryState();
  closers.add('state folder', remove);
  closers.add('processes', () => noProcessOf(state.root));
  const server = await startStoreServer();
  closers.add('store', () => server.stop());
  const temporal = await startTemporalServer({ dir: join(state.root, 'temporal') });
  closers.add('Temporal', () => temporal.stop());
  const certificates = await makeCertificates(join(state.root, 'certificates'), ['proxy-server', 'api', 'host-served']);
  const payloadKey = join(state.root, 'control', 'control', 'payload.key');
  const serve = async (name: ProcessName, env: NodeJS.ProcessEnv = {}) => {
    const guard = await StoreGuard.start(server.uri, RIGHTS[name]);
    guards.set(name, guard);
    closers.add(`guard of ${name}`, () => guard.stop());
    const own = {
      MONGODB_URI: guard.uri,
      MAYFLY_PAYLOAD_KEY_FILE: payloadKey,
      MAYFLY_STATE_DIR: join(state.root, name),
      ...env,
    };
    const child = new MayflyProcess(['serve', name], { TEMPORAL_ADDRESS: temporal.address, ...own });
    closers.add(name, async () => void (await child.end('SIGKILL')));
    logs.set(name, child);
    return child;
  };
  const soon = '0.00002';
  await serve('control', {
    MAYFLY_RECONCILE_SECONDS: '1',
    MAYFLY_RETENTION_DAYS: soon,
    MAYFLY_AUDIT_RETENTION_DAYS: soon,
    MAYFLY_EXPORT_DIR: join(state.root, 'export'),
  });
  await eventually(() => inspectStore(server.uri), { layout: 'this' });
  const proxy = await serve('proxy', { ...proxyTls(certificates), MAYFLY_PROXY_PORT: '0' });
  const { address } = proxied.parse(JSON.parse(await proxy.line('the proxy listens')));
  const byProxy = (name: string) => ({ TEMPORAL_ADDRESS: address, ...temporalTls(certificates, name) });
  asHost = byProxy('host-served');
  await serve('host', { ...asHost, MAYFLY_HOST: 'simulated', MAYFLY_HOST_ID: 'served' });
  const api = await serve('api', { ...byProxy('api'), MAYFLY_API_PORT: '0' });
  ({ url } = listening.parse(JSON.parse(await api.line('the API listens'))));
  const local = { MONGODB_URI: guards.get('api')?.uri, MAYFLY_STATE_DIR: join(state.root, 'api') };
  const key = new MayflyProcess(['key', 'create', 'first', '--scope', 'operator', '--local', '--json'], local);
  ({ secret } = made.parse(JSON.parse(await key.line('"secret"'))));
  await key.end();
  client = new MayflyClient({ baseUrl: url, apiKey: secret });
  keys = await payloadKeys(payloadKey);
  store = await connectStore(server.uri, { keys });
  closers.add("the test's store", () => store.close());
  await eventually(
    () => fetch(`${url}/readyz`),
    (answer) => answer.ok,
  );
});
afterAll(() => closers.close());

/** Performs every operation on a simulated host once. @returns a sandbox without retained data */
async function liveThrough(): Promise<string> {
  const wait = { waitSeconds: 60 };
  for (const { id: key } of (await client.listKeys()).items) await client.limitKey(key, { diskBytes: 1_024 ** 4 });
  const sandbox = await client.createSandbox({ source: 'golden-debian12', name: 'web' }, wait);
  const { id } = sandbox;
  await client.getSandbox('web');
  await client.commands.run(id, { command: 'echo $X; cat', env: { X: 'y' } }, wait);
  const long = await client.commands.run(id, { command: 'sleep 600' }, { waitSeconds: 0 });
  await client.commands.cancel(id, long.id);
  await client.commands.list(id);
  await client.files.write(id, '/tmp/note', Buffer.from('text'));
  const { serial } = await client.credentials.issue(id, { publicKey: makeKeyPair('x').publicKey });
  await client.credentials.revoke(id, serial, wait);
  const snapshot = await client.snapshots.take(id, { name: 'kept' }, wait);
  await expect(client.snapshots.take(id, { name: 'kept' }, wait)).rejects.toMatchObject({
    code: 'snapshot_name_taken',
  });
  const [fork] = await client.snapshots.fork({ snapshotId: snapshot.id, count: 1 }, wait);
  await client.snapshots.restore(id, { snapshotId: snapshot.id }, wait);
  await client.pauseSandbox(id, wait);
  await client.resumeSandbox(id, wait);
  await client.extendSandbox(id, { ttlSeconds: 1_000 });
  await client.sources.bake({ name: 'baked', fromSnapshot: snapshot.id }, wait);
  await client.sources.delete('baked', wait);
  await client.sandboxUsage(id);
  await client.keyUsage();
  if (!fork || !('sandbox' in fork)) throw new Error('the fork failed');
  const once = { ...wait, idempotencyKey: 'once' };
  for (let n = 0; n < 2; n++) await client.commands.run(fork.sandbox.id, { command: 'echo x' }, once);
  await client.destroySandbox(fork.sandbox.id, wait);
  for (const { id: kept } of (await client.snapshots.list(id)).items) await client.snapshots.delete(kept, wait);
  await client.sandboxAudit(id);
  await client.listSources();
  await client.captures.list('golden-debian12');
  await client.templates.list();
  await client.sources.get('golden-debian12');
  await client.projects.create({ id: 'tenant' });
  await client.projects.list();
  await client.projects.change('tenant', { sources: [] });
  const twice = { idempotencyKey: 'twice' };
  const refused = () => client.createSandbox({ source: 'none-such' }, { ...wait, ...twice });
  for (let n = 0; n < 2; n++) await expect(refused()).rejects.toThrow('none-such');
  const [host] = (await client.listHosts()).items;
  await client.drainHost(host?.id ?? '', true);
  await client.drainHost(host?.id ?? '', false);
  const key = await client.createKey({ name: 'second', scopes: ['sandboxes:read'] });
  await client.limitKey(key.id, { diskBytes: 10 * 1_024 ** 3 });
  await client.listKeys();
  await client.revokeKey(key.id);
  await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${secret}` } });
  await client.destroySandbox(id, wait);
  return fork.sandbox.id;
}

test('each process uses its rights to the store, and no others', async () => {
  const id = await liveThrough();
  // retention removes it within two seconds of its end, and then its audit
  await eventually(
    async () => (await store.sandboxes.get(id)) === null && guards.get('control')?.used.has('audit remove'),
    true,
  );
  const refused = [...guards].flatMap(([name, guard]) => guard.refused.map((what) => `${name}: ${what}`));
  expect(refused).toEqual([]);
  // reports of the host about its own sandboxes pass: the proxy has no key to the encrypted parts of the record
  const own = await client.createSandbox({ source: 'golden-debian12', metadata: { a: 'b' } }, { waitSeconds: 60 });
  await reportEndOf(own.id);
  await client.destroySandbox(own.id, { waitSeconds: 60 });
  expect(logs.get('proxy')?.output).not.toMatch(/a request was refused|could not be judged/);
  await expect(reportEndOf(id)).rejects.toMatchObject({ code: 'temporal_unavailable' });
  await eventually(async () => logs.get('proxy')?.output ?? '', /is not of a sandbox on it/);
});

/** Reports the death of a machine as the host, by the proxy. */
async function reportEndOf(id: string): Promise<void> {
  const { temporalAddress = '', temporalTls: tls } = readConfig(asHost);
  const connection = await connectTemporal(temporalAddress, tls);
  const ofHost = temporalClient({ connection, dataConverter: createDataConverter(keys) });
  try {
    await new ApiTemporalClient(ofHost).sandboxes.reportMachineEnd(id, {
      hostId: 'served',
      reason: 'crashed',
      seenAt: new Date().toISOString(),
    });
  } finally {
    await connection.close();
  }
}

const flat = (rows: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(rows).flatMap(([collection, actions]) => actions.map((action) => `${collection} ${action}`));

test('no right is granted without a use', () => {
  for (const [name, { used }] of guards) {
    const rare = Object.values(RARE[name]).flatMap(flat);
    const given = flat(RIGHTS[name]);
    expect(
      given.filter((right) => !used.has(right) && !rare.includes(right)),
      `idle, of ${name}`,
    ).toEqual([]);
    expect(
      rare.filter((right) => !given.includes(right)),
      `not given to ${name}`,
    ).toEqual([]);
  }
});

test('a host neither reads the audit nor writes a record, and only the API makes keys', () => {
  const who = (right: string) =>
    Object.entries(RIGHTS).flatMap(([name, row]) => (flat(row).includes(right) ? [name] : []));
  expect(who('audit insert')).toEqual(['control']);
  expect(who('certificates insert')).toEqual(['control']);
  expect(who('sandboxes update')).toEqual(['control']);
  expect(who('apiKeys insert')).toEqual(['api']);
  expect(who('apiSigners insert')).toEqual(['api']);
  expect(who('relays find')).toEqual(['api']);
  expect(
    Object.keys(RIGHTS.host).filter((name) => /audit|certificates|serials|idempotency|Signers/.test(name)),
  ).toEqual([]);
});

test.each(['api', 'host', 'proxy'] as const)(
  'a compromised %s is refused what its row does not grant',
  async (name) => {
    const connection = await mongoose.createConnection(guards.get(name)?.uri ?? '').asPromise();
    try {
      await connection.collection('sandboxes').findOne({}); // granted by its row
      for (const [collection, actions] of Object.entries(FORBIDDEN[name])) {
        const of = connection.collection<{ _id: string }>(collection);
        const attempts = {
          find: () => of.findOne({}),
          insert: () => of.insertOne({ _id: 'forged' }),
          update: () => of.updateOne({}, { $set: { forged: true } }),
          remove: () => of.deleteOne({}),
        };
        for (const action of actions) {
          await expect(attempts[action](), `${collection} ${action}`).rejects.toThrow('not authorized');
        }
      }
    } finally {
      await connection.close();
    }
  },
);

test('a database without rights is refused, and the process names the one to start first', async () => {
  const uri = new URL(guards.get('host')?.uri ?? '');
  uri.pathname = '/another';
  await expect(connectStore(uri.href)).rejects.toThrow('Start the control worker first');
});
