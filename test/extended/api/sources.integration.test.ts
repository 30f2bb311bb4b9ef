import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../../api/app.ts';
import type { App } from '../../../api/http/context.ts';
import { RelayClient } from '../../../host/relay/client.ts';
import type { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { type CertClient, keyWithCertificate } from '../../../host/ssh/cert-client.ts';
import { validBefore } from '../../../host/ssh/certificate-validity.ts';
import { CERTIFICATE_FILE, KEY_FILE } from '../../../host/ssh/credentials.ts';
import { login } from '../../../host/ssh/login.ts';
import { deriveSourceId } from '../../../model/ids.ts';
import type { Scope } from '../../../model/scopes.ts';
import type { SourceCommandResult } from '../../../model/snapshots/source-access.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const mayfly = useMayfly();
const NAME = `server-${randomBytes(4).toString('hex')}`;
const OTHER = `${NAME}-other`;
const PATIENT = { Prefer: 'wait=60' };
let app: App;
let guests: RelayClient;
let admin: string;
let looker: string;

const hypervisor = () => mayfly().host?.machine.hypervisor as SimulatedHypervisor;
const root = (name = NAME) => join(mayfly().config.stateDir, 'images', name, 'root');

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, key = looker) {
  return app.request(path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function run(command: string, more: object = {}, name = NAME): Promise<Response> {
  return call('POST', `/v1/sources/${name}/commands`, { command, ...more });
}

async function ran(command: string, more: object = {}): Promise<SourceCommandResult> {
  const response = await run(command, more);
  expect([response.status, response.ok ? '' : await response.clone().text()]).toEqual([200, '']);
  return (await response.json()) as SourceCommandResult;
}

const prepare = (name: string) => call('POST', `/v1/sources/${name}/prepare`, {}, PATIENT, admin);

beforeAll(async () => {
  const { store, sagas } = mayfly();
  guests = new RelayClient(store);
  app = createApp({ store, sagas, guests, version: '0', logger: pino({ level: 'silent' }) });
  const key = async (...scopes: Scope[]) =>
    (await store.apiKeys.create({ project: 'default', name: 'test', scopes })).secret;
  admin = await key('operator');
  looker = await key('sources:look');
  for (const name of [NAME, OTHER]) {
    await hypervisor().runningSources.make(name);
    await mkdir(join(root(name), 'srv/data'));
    await writeFile(join(root(name), 'srv/data/lines'), 'one\ntwo\nthree\n');
    await writeFile(join(root(name), 'srv/data/binary'), Buffer.from([0, 255, 10, 200]));
    await writeFile(join(root(name), 'srv/data/big'), Buffer.alloc(9 * 1024 * 1024, 'x'));
    await writeFile(join(root(name), 'srv/data/secret'), 'no', { mode: 0o600 });
    await writeFile(Buffer.concat([Buffer.from(join(root(name), 'srv/data/')), Buffer.from([0xff, 0x0a])]), 'odd');
    await symlink('lines', join(root(name), 'srv/data/link'));
    await hypervisor().runningSources.start(name);
  }
  // A host reports its sources when it starts, and then every five seconds.
  await mayfly().host?.stop();
  await mayfly().startHost();
});

afterAll(async () => {
  guests.close();
  for (const name of [NAME, OTHER]) await hypervisor().runningSources.stop(name);
});

/** Changes the end of a certificate, which breaks the signature: only its holder reads it. */
function endingSoon(line: string): string {
  const [type = '', base64 = ''] = line.split(' ');
  const blob = Buffer.from(base64, 'base64');
  const end = Buffer.alloc(8);
  end.writeBigUInt64BE(BigInt(validBefore(line) / 1_000));
  blob.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 1_000) + 20), blob.indexOf(end));
  return `${type} ${blob.toString('base64')}\n`;
}

describe('before it is prepared', () => {
  test('reads are refused, each with a remedy', async () => {
    expect(await (await run('uname -s')).json()).toMatchObject({ code: 'source_not_prepared', status: 409 });
    expect(await (await run('uname -s', {}, 'nowhere')).json()).toMatchObject({ code: 'source_not_found' });
    expect(await (await call('GET', `/v1/sources/${NAME}/files/etc/passwd`)).json()).toMatchObject({
      code: 'source_not_prepared',
    });
  });

  test('only an admin prepares', async () => {
    const refused = await call('POST', `/v1/sources/${NAME}/prepare`, {});
    expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'forbidden' }]);
  });
});

describe('prepared', () => {
  beforeAll(async () => {
    for (const name of [NAME, OTHER]) {
      const response = await prepare(name);
      expect([response.status, await response.json()]).toMatchObject([200, { state: 'prepared', failure: null }]);
    }
  });

  test('it reports its state and its sshd', async () => {
    const shown = await call('GET', `/v1/sources/${NAME}`, undefined, {}, admin);
    expect(await shown.json()).toMatchObject({
      name: NAME,
      cloneable: false,
      hosts: ['test'],
      access: [{ state: 'prepared', hostId: 'test', sshd: { hostKey: expect.stringMatching(/^ssh-ed25519 /) } }],
    });
  });

  test('commands run without a shell, as a user without write access', async () => {
    expect(await ran('uname -s')).toMatchObject({
      exitCode: 0,
      signal: null,
      timedOut: false,
      stdout: { text: 'Linux\n', base64: null, truncated: false },
      stderr: { text: '' },
    });
    expect(await ran('cat /srv/data/lines | grep -c t')).toMatchObject({ exitCode: 0, stdout: { text: '2\n' } });
    expect(await ran('cat /srv/data/binary')).toMatchObject({ stdout: { text: null, base64: 'AP8KyA==' } });
    const denied = await ran('cat /srv/data/secret /srv/data/lines');
    expect(denied).toMatchObject({ exitCode: 1, stdout: { text: 'one\ntwo\nthree\n' } });
    expect(denied.stderr.text).toContain('Permission denied');
    expect(await ran('grep nothing /srv/data/lines || echo none')).toMatchObject({ stdout: { text: 'none\n' } });
  });

  test('output is limited', async () => {
    const cut = await ran('cat /srv/data/big', { maxOutputBytes: 1_000 });
    expect([cut.stdout.text?.length, cut.stdout.truncated]).toEqual([1_000, true]);
  });

  test.each([
    ['rm -rf /srv/data', 0],
    ['cat /srv/data/lines > /srv/data/x', 20],
    ['cat /srv/data/lines; $(rm x)', 21],
    ['find /srv -delete', 10],
  ])('%s is refused with its position, and never reaches the source', async (command, position) => {
    const response = await run(command);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      code: 'readonly_refused',
      errors: [{ field: 'command', problem: expect.stringMatching(new RegExp(`^at ${position}: `)) }],
    });
  });

  test('the same Idempotency-Key gives the same answer', async () => {
    const headers = { 'Idempotency-Key': randomBytes(8).toString('hex') };
    const path = `/v1/sources/${NAME}/commands`;
    const first = await call('POST', path, { command: 'uname -s' }, headers);
    const again = await call('POST', path, { command: 'uname -s' }, headers);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await again.json()).toEqual(await first.json());
    const other = await call('POST', path, { command: 'uname -r' }, headers);
    expect(await other.json()).toMatchObject({ code: 'idempotency_key_reused' });
  });

  test('concurrent reads have a limit', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => run('find /usr/share -name nothing')));
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const busy = answers.find(({ status }) => status === 429);
    expect(busy?.headers.get('Retry-After')).toBe('1');
    expect(await ran('uname -s')).toMatchObject({ exitCode: 0 });
  });

  const file = (path: string, headers = {}) => call('GET', `/v1/sources/${NAME}/files/${path}`, undefined, headers);

  test('files are read whole, in ranges, and as directories', async () => {
    expect(await (await file('srv/data/link')).text()).toBe('one\ntwo\nthree\n');
    const part = await file('srv/data/lines', { Range: 'bytes=4-6' });
    expect([part.status, part.headers.get('Content-Range'), await part.text()]).toEqual([206, 'bytes 4-6/14', 'two']);
    expect(await (await file('srv/data/lines', { Range: 'bytes=-6' })).text()).toBe('three\n');
    const beyond = await file('srv/data/lines', { Range: 'bytes=99-' });
    expect([beyond.status, beyond.headers.get('Content-Range')]).toEqual([416, 'bytes */14']);
    const big = await file('srv/data/big');
    expect(big.headers.get('Content-Length')).toBe(String(9 * 1024 * 1024));
    expect((await big.arrayBuffer()).byteLength).toBe(9 * 1024 * 1024);
    const listed = (await (await file('srv/data')).json()) as { items: { name: string; type: string; path: string }[] };
    expect(listed.items.map(({ name, type }) => `${name} ${type}`)).toContain('link symlink');
    const odd = listed.items.find(({ name }) => name.endsWith('\n'));
    expect(await (await file(odd?.path ?? '')).text()).toBe('odd');
  });

  test('a file of /proc is read although its size is zero', async () => {
    const { stdout } = await ran('cat /proc/sys/kernel/ostype');
    expect([stdout.text, await (await file('proc/sys/kernel/ostype')).text()]).toEqual(['Linux\n', 'Linux\n']);
  });

  test.each([
    ['srv/nothing', 'file_not_found'],
    ['srv/data/secret', 'file_forbidden'],
    ['dev/zero', 'file_forbidden'],
    ['srv/%00', 'invalid_request'],
  ])('%s: %s', async (path, code) => {
    expect(await (await file(path)).json()).toMatchObject({ code });
  });

  test('every read is in the audit, with its actor and object', async () => {
    await ran('uname -r', { agentId: 'agent-7' });
    await file('etc/passwd');
    const seen = async () => {
      const page = await (await call('GET', `/v1/sources/${NAME}/audit?limit=200`, undefined, {}, admin)).json();
      return (page as { items: { body: string }[] }).items.map(
        ({ body }) => JSON.parse(body) as Record<string, unknown>,
      );
    };
    const expected = [
      expect.objectContaining({ kind: 'source.prepared' }),
      expect.objectContaining({
        kind: 'source.command',
        actor: expect.objectContaining({ agentId: 'agent-7' }),
        detail: expect.objectContaining({ command: 'uname -r' }),
      }),
      expect.objectContaining({ kind: 'source.file', detail: expect.objectContaining({ path: '/etc/passwd' }) }),
    ];
    await expect.poll(seen).toEqual(expect.arrayContaining(expected));
    expect((await mayfly().store.audit.verify(deriveSourceId('test', NAME))).ok).toBe(true);
  });

  /** Logs in with the host's own credentials for one source, at the sshd of another one or of the same. */
  async function loginTo(name: string, credentialsOf: string, user = 'mayfly-readonly'): Promise<CertClient> {
    const folder = mayfly().host?.machine.credentials.directory(deriveSourceId('test', credentialsOf)) ?? '';
    const certificate = await readFile(join(folder, CERTIFICATE_FILE), 'utf8');
    const key = keyWithCertificate(await readFile(join(folder, KEY_FILE)), certificate);
    const [address] = await (await hypervisor().runningSource(name)).addresses();
    const record = await mayfly().store.sources.get(deriveSourceId('test', name));
    const endpoint = {
      address: address?.address ?? '',
      port: address?.port ?? 0,
      user,
      hostKey: record?.sshd?.hostKey ?? '',
    };
    return login({
      endpoint,
      key,
      signal: AbortSignal.timeout(60_000),
      connectTimeoutMs: 30_000,
      loginTimeoutMs: 30_000,
    });
  }

  test("caa-014: one source's certificate opens no other, and no other user", async () => {
    await expect(loginTo(OTHER, NAME)).rejects.toMatchObject({ stage: 'auth' });
    await expect(loginTo(NAME, NAME, 'root')).rejects.toMatchObject({ stage: 'auth' });
    await expect(loginTo(NAME, NAME, 'sandbox')).rejects.toMatchObject({ stage: 'auth' });
    (await loginTo(NAME, NAME)).end();
  });

  test('a certificate holder gets the gate and nothing else', async () => {
    const client = await loginTo(NAME, NAME);
    try {
      const said = await new Promise<string>((resolve, reject) => {
        client.exec('touch /tmp/escaped; sh', (error, channel) => {
          if (error) return reject(error);
          let text = '';
          channel.stderr.on('data', (bytes: Buffer) => {
            text += bytes.toString();
          });
          channel.on('data', () => {});
          channel.on('close', () => resolve(text));
          channel.end('touch /tmp/escaped\n');
        });
      });
      expect(said).toContain('nothing but the gate can be run here');
      expect(existsSync(join(root(), 'tmp/escaped'))).toBe(false);
      const opened = (open: (done: (error?: Error) => void) => void) =>
        new Promise<string>((resolve) => open((error) => resolve(error ? 'refused' : 'opened')));
      expect(await opened((done) => client.forwardOut('127.0.0.1', 1, '127.0.0.1', 22, done))).toBe('refused');
      expect(await opened((done) => client.forwardIn('127.0.0.1', 0, done))).toBe('refused');
      expect(await opened((done) => client.sftp((error) => done(error)))).toBe('refused');
      expect(await opened((done) => client.shell({ term: 'xterm' }, done))).toBe('refused');
    } finally {
      client.end();
    }
  });

  test('an expired certificate is replaced by the next read', async () => {
    const machine = mayfly().host?.machine;
    const id = deriveSourceId('test', NAME);
    const path = join(machine?.credentials.directory(id) ?? '', CERTIFICATE_FILE);
    machine?.sourceReads.close(id);
    await writeFile(path, endingSoon(await readFile(path, 'utf8')));
    expect(await ran('uname -s')).toMatchObject({ exitCode: 0 });
    expect(validBefore(await readFile(path, 'utf8'))).toBeGreaterThan(Date.now() + 600_000);
  });

  test('a host that has lost its key to a source requires another prepare', async () => {
    const machine = mayfly().host?.machine;
    const id = deriveSourceId('test', NAME);
    await machine?.credentials.removeCredentials(id);
    machine?.sourceReads.close(id);
    const refused = await run('uname -s');
    expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'source_not_prepared' }]);
    expect((await prepare(NAME)).status).toBe(200);
    expect(await ran('uname -s')).toMatchObject({ exitCode: 0 });
  });

  test('unprepare removes the access, and the remaining certificate is refused', async () => {
    const path = `/v1/sources/${OTHER}/unprepare`;
    const response = await call('POST', path, {}, PATIENT, admin);
    expect([response.status, await response.json()]).toMatchObject([200, { state: 'unprepared', changes: [] }]);
    expect(await (await run('uname -s', {}, OTHER)).json()).toMatchObject({ code: 'source_not_prepared' });
    await expect(loginTo(OTHER, NAME)).rejects.toMatchObject({ stage: 'auth' });
    expect((await call('POST', path, {}, PATIENT, admin)).status).toBe(200);
  });
});
