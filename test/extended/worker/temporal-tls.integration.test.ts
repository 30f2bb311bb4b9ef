import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { exec } from '../../../host/os/exec.ts';
import { repository } from '../../../worker/config/artifacts.mjs';
import { readConfig, type TemporalTls } from '../../../worker/config/config.ts';
import type { Check } from '../../../worker/doctor/check.ts';
import { localUsersProbe } from '../../../worker/doctor/local-users.ts';
import { ProbeContext } from '../../../worker/doctor/surroundings.ts';
import { connectTemporal } from '../../../worker/servers/temporal.ts';
import { listen } from '../../support/listen.ts';
import { temporalTls } from '../../support/temporal-certificates.ts';
import { useFolder } from '../../support/use-folder.ts';

/** TLS server before the dev server that requires a certificate of its CA, as Temporal in docker-compose.yml does. */
const folder = useFolder();
let server: Server;
let address: string;
const sockets = new Set<{ destroy(): void }>();
const script = join(repository, 'deploy/temporal/certificates.sh');
const file = (name: string, what: string, of = 'ours') => join(folder, of, name, what);

beforeAll(async () => {
  await exec('sh', [script, join(folder, 'ours'), 'server', 'control', 'api', 'kvm-2']);
  await exec('sh', [script, join(folder, 'foreign'), 'server', 'control', 'api']);
  const read = (what: string) => readFile(file('server', what));
  const [key, cert, ca] = await Promise.all(['key.pem', 'cert.pem', 'ca.pem'].map(read));
  server = createServer({ key, cert, ca, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] }, forward);
  await listen(server);
  address = addressOf(server);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

function addressOf(of: Server): string {
  return `127.0.0.1:${(of.address() as AddressInfo).port}`;
}

function forward(caller: TLSSocket): void {
  const [host = '', port = ''] = inject('temporalAddress').split(':');
  const temporal = connect(Number(port), host);
  for (const [one, other] of [
    [caller, temporal],
    [temporal, caller],
  ] as const) {
    sockets.add(one);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
    one.pipe(other);
  }
}

function files(changes: Partial<TemporalTls> = {}): TemporalTls {
  const own = { ca: file('control', 'ca.pem'), cert: file('control', 'cert.pem'), key: file('control', 'key.pem') };
  return { ...own, serverName: undefined, credentialsDir: undefined, ...changes };
}

test('a client with a certificate of the CA can use Temporal', async () => {
  const connection = await connectTemporal(address, files());
  const client = new Client({ connection });
  expect((await client.workflowService.getSystemInfo({})).serverVersion).toMatch(/^1\./);
  await connection.close();
});

test('mayfly doctor connects with the same files', async () => {
  const { ca, cert, key } = files();
  const env = { TEMPORAL_TLS_CA: ca, TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key, TEMPORAL_ADDRESS: address };
  const surroundings = await ProbeContext.of(readConfig({ ...env, MAYFLY_STATE_DIR: folder }));
  expect(await (await surroundings.temporal()).workflowService.getSystemInfo({})).toBeDefined();
  await surroundings.close();
});

async function doctorSays(env: NodeJS.ProcessEnv, about = 'Temporal is closed'): Promise<Check | undefined> {
  const surroundings = await ProbeContext.of(readConfig({ ...env, MAYFLY_STATE_DIR: folder }));
  const checks = await localUsersProbe(surroundings).look();
  await surroundings.close();
  return checks.find(({ name }) => name === about);
}

test("mayfly doctor reports a certificate with full access, unless it is the control worker's", async () => {
  const about = 'Temporal by the proxy';
  const envOf = (name: string) => ({ ...temporalTls(join(folder, 'ours'), name), TEMPORAL_ADDRESS: address });
  expect(await doctorSays(envOf('kvm-2'), about)).toMatchObject({
    ok: false,
    found: expect.stringContaining('(CN=kvm-2)'),
  });
  expect(await doctorSays(envOf('control'), about)).toBeUndefined();
});

test('mayfly doctor reports Temporal as closed only if it requires a certificate', async () => {
  const { ca: TEMPORAL_TLS_CA, cert: TEMPORAL_TLS_CERT, key: TEMPORAL_TLS_KEY } = files();
  const ours = { TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT, TEMPORAL_TLS_KEY };
  expect(await doctorSays({ ...ours, TEMPORAL_ADDRESS: address })).toMatchObject({ ok: true });
  const [key, cert] = await Promise.all(['key.pem', 'cert.pem'].map((what) => readFile(file('server', what))));
  const open = createServer({ key, cert, ALPNProtocols: ['h2'] }, forward);
  await listen(open);
  const openAddress = addressOf(open);
  expect(await doctorSays({ ...ours, TEMPORAL_ADDRESS: openAddress })).toMatchObject({
    ok: false,
    found: expect.stringContaining('asks for no certificate'),
  });
  open.close();
  expect(await doctorSays({ TEMPORAL_ADDRESS: inject('temporalAddress') })).toMatchObject({
    ok: false,
    remedy: expect.stringContaining('TEMPORAL_TLS_CERT'),
  });
});

test.each([
  [
    'in the clear',
    (): TemporalTls | null => null,
    /it speaks TLS: set TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY/,
  ],
  [
    'without a certificate',
    () => files({ cert: undefined, key: undefined }),
    /set TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY/,
  ],
  [
    'with the certificate of another CA',
    () => files({ cert: file('control', 'cert.pem', 'foreign'), key: file('control', 'key.pem', 'foreign') }),
    /does not take our certificate, TEMPORAL_TLS_CERT/,
  ],
  [
    'with the certificate of a caller of the proxy',
    () => files({ cert: file('api', 'cert.pem'), key: file('api', 'key.pem') }),
    /does not take our certificate, TEMPORAL_TLS_CERT/,
  ],
  [
    'to a server of another CA',
    () => files({ ca: file('control', 'ca.pem', 'foreign') }),
    /its certificate is not of the CA in TEMPORAL_TLS_CA/,
  ],
  ['to another name', () => files({ serverName: 'elsewhere' }), /is for another name.*TEMPORAL_TLS_SERVER_NAME/],
] as const)('a connection %s is refused with the reason', async (_how, tls, why) => {
  await expect(connectTemporal(address, tls())).rejects.toMatchObject({
    code: 'temporal_unavailable',
    message: expect.stringMatching(why),
  });
});

test('a server without TLS is named as the cause', async () => {
  await expect(connectTemporal(inject('temporalAddress'), files())).rejects.toThrow(/is it without TLS\?/);
});

test('an expired certificate is refused before any request', async () => {
  const [own, expired] = [join(folder, 'ours'), join(folder, 'expired.pem')];
  const [request, ca] = [join(folder, 'request'), join(own, 'ca', 'ca.pem')];
  await exec('openssl', ['req', '-new', '-key', file('control', 'key.pem'), '-subj', '/CN=host', '-out', request]);
  const of = ['-CA', ca, '-CAkey', join(own, 'ca', 'ca.key'), '-CAcreateserial', '-days', '-1'];
  await exec('openssl', ['x509', '-req', '-in', request, ...of, '-out', expired]);
  await expect(connectTemporal(address, files({ cert: expired }))).rejects.toThrow(
    /TEMPORAL_TLS_CERT: .* has expired at/,
  );
});

test('invalid files are named', async () => {
  const [open, text] = [join(folder, 'open.pem'), join(folder, 'text.pem')];
  await copyFile(file('control', 'key.pem'), open);
  await chmod(open, 0o644);
  await writeFile(text, 'no key');
  await chmod(text, 0o600);
  const faults: [Partial<TemporalTls>, RegExp][] = [
    [{ key: open }, /TEMPORAL_TLS_KEY: .* has mode 0644/],
    [{ key: text }, /TEMPORAL_TLS_KEY: .* is not a private key in PEM format/],
    [{ key: file('control', 'key.pem', 'foreign') }, /TEMPORAL_TLS_KEY: .* is not the key of the certificate/],
    [{ cert: text }, /TEMPORAL_TLS_CERT: .* is not a certificate in PEM format/],
    [{ ca: join(folder, 'none') }, /TEMPORAL_TLS_CA: .* cannot be read: ENOENT/],
  ];
  for (const [changes, why] of faults) await expect(connectTemporal(address, files(changes))).rejects.toThrow(why);
  const connection = await connectTemporal(address, files({ key: open, credentialsDir: folder }));
  await connection.close();
});

test('incomplete settings are refused by their names', () => {
  const read = (env: NodeJS.ProcessEnv) => () => readConfig({ TEMPORAL_ADDRESS: address, ...env });
  expect(read({ TEMPORAL_TLS_CERT: '/a' })).toThrow('TEMPORAL_TLS_KEY');
  expect(read({ TEMPORAL_TLS_CA: 'a' })).toThrow('TEMPORAL_TLS_CA: give an absolute path');
  expect(read({ TEMPORAL_TLS_CA: '/a', TEMPORAL_ADDRESS: '' })).toThrow('set TEMPORAL_ADDRESS, too');
  expect(read({})().temporalTls).toBeNull();
});
