import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CertificateRequest } from '../../ca/certificate.ts';
import { keyIdOf } from '../../ca/certificate.ts';
import { parsePublicKey } from '../../ca/public-key.ts';
import { UserCa } from '../../ca/user-ca.ts';
import { sshArguments } from '../../cli/ssh/ssh.ts';
import { exec } from '../../host/os/exec.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { StateDir } from '../../host/state-dir.ts';

/** The cases of shared/cases/certificate-faults.json that need no sshd; the others are in credentials.integration.test.ts. */
const ID = 'sbx-0000000000000001';
const { publicKey } = makeKeyPair('guest');

function request(change: Partial<CertificateRequest> = {}): CertificateRequest {
  return {
    sandboxId: ID,
    publicKey,
    actor: { apiKeyId: 'key1', agentId: 'agent-7' },
    source: 'golden-debian12',
    serial: 41n,
    ...change,
  };
}

const asAgent = (agentId: string) => request({ actor: { apiKeyId: 'key1', agentId } });

/** The fields of an identity, as whoever reads sshd's log would take it apart. */
function fieldsOf(keyId: string): Record<string, string> {
  const pairs = keyId.split(' ').map((field) => field.split('='));
  expect(pairs.every((pair) => pair.length === 2)).toBe(true);
  return Object.fromEntries(pairs.map(([name, value]) => [name, decodeURIComponent(value ?? '')]));
}

describe('identity', () => {
  test.each([
    ['caa-005', 'bob-vm:prod-sbx:SBX-9-cert:00'],
    ['caa-005', 'bob source=other sandbox=sbx-00000000000000ff certificate=1'],
    ['caa-006', 'bob\nroot'],
    ['caa-006', 'bob\r\n\u001b[2Jroot'],
    ['caa-006', 'bob\u0000'],
    ['caa-001', 'bob,root'],
    ['caa-027', '-oProxyCommand=touch /tmp/x'],
    ['an agent of the API', 'build agent #7 (nightly) – Müller'],
    ['percent', '%20=%'],
    ['none', '-'],
  ])('%s: %j can forge no field, and comes back as it was', (_case, agentId) => {
    const keyId = keyIdOf(asAgent(agentId));
    expect(keyId).toMatch(/^[\x21-\x7e]+( [\x21-\x7e]+){4}$/);
    expect(fieldsOf(keyId)).toEqual({
      agent: agentId,
      key: 'key1',
      source: 'golden-debian12',
      sandbox: ID,
      certificate: '41',
    });
  });

  test('caa-005: a source and an API key are encoded too; no agent is not the agent "-"', () => {
    const keyId = keyIdOf(request({ source: 'a b=c', actor: { apiKeyId: 'k sandbox=x', agentId: null } }));
    expect(keyId).toBe(`agent=- key=k%20sandbox%3Dx source=a%20b%3Dc sandbox=${ID} certificate=41`);
    expect(keyIdOf(asAgent('-'))).toContain('agent=%2D ');
  });

  test('caa-007: what the API would never have let in is refused', () => {
    for (const agentId of ['x'.repeat(70_000), 'x'.repeat(129), '']) {
      expect(() => keyIdOf(asAgent(agentId))).toThrow('1 to 128 characters');
    }
  });

  test('caa-007: what it lets in fits a line of the log of sshd, and two long ones stay two', () => {
    const long = '\u{1f41d}'.repeat(63);
    const [one, other] = [`${long}a`, `${long}b`].map((agentId) => keyIdOf({ ...asAgent(agentId), source: long }));
    expect(one?.length).toBeLessThan(400);
    expect(one).not.toBe(other);
    expect(one).toMatch(/ sandbox=sbx-0000000000000001 certificate=41$/);
  });

  test('a certificate for a source says so', () => {
    expect(keyIdOf(request({ sandboxId: 'src-0000000000000001' }))).toContain(' sourceId=src-0000000000000001 ');
  });
});

describe('certificates', () => {
  let directory: string;
  let ca: UserCa;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mayfly-faults-'));
    ca = await UserCa.open(join(directory, 'ca'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function inspect(certificate: string): Promise<string> {
    const path = join(directory, 'shown-cert.pub');
    await writeFile(path, certificate);
    return (await exec('ssh-keygen', ['-L', '-f', path], { env: { TZ: 'UTC' } })).stdout;
  }

  test.each([
    ['caa-001', 'sandbox,root'],
    ['caa-002', '-Oclear'],
    ['caa-003', '*'],
    ['caa-004', 'sändbox'],
    ['caa-024', '../../etc'],
    ['caa-028', 'x; touch /tmp/pwned; #'],
  ])('%s: %j is no principal', async (_case, sandboxId) => {
    await expect(ca.sign(request({ sandboxId }))).rejects.toMatchObject({ code: 'invalid_id' });
  });

  test.each(['bob\nroot', 'bob-vm:prod-sbx:SBX-9-cert:00', 'two words'])(
    'caa-005, caa-006: %j stands in the certificate as it was encoded',
    async (agentId) => {
      const { certificate, keyId } = await ca.sign(asAgent(agentId));
      expect((await inspect(certificate)).split('\n').map((line) => line.trim())).toContain(`Key ID: "${keyId}"`);
    },
  );

  test('caa-008: two lines, or options, are refused', async () => {
    for (const text of [`${publicKey}\nssh-rsa AAAA`, `command="/bin/sh" ${publicKey}`]) {
      await expect(ca.sign(request({ publicKey: text }))).rejects.toMatchObject({ code: 'public_key_refused' });
    }
  });

  test('caa-009: a type that is not the one inside is refused', async () => {
    const text = publicKey.replace('ssh-ed25519', 'ssh-rsa');
    await expect(ca.sign(request({ publicKey: text }))).rejects.toThrow('declared type differs');
  });

  test.each([
    ['caa-010: RSA of 1024 bits', ['rsa', '-b', '1024'], 'at least 2048 bits'],
    ['DSA', ['dsa'], 'its type is none of'],
  ])('%s is refused', async (_case, [type = '', ...rest], why) => {
    await exec('ssh-keygen', ['-q', '-t', type, ...rest, '-N', '', '-f', join(directory, 'weak')]);
    const text = await readFile(join(directory, 'weak.pub'), 'utf8');
    await expect(ca.sign(request({ publicKey: text }))).rejects.toThrow(why);
  });

  test('a certificate, and what is longer than any key, are refused', async () => {
    const { certificate } = await ca.sign(request());
    await expect(ca.sign(request({ publicKey: certificate }))).rejects.toThrow('its type is none of');
    await expect(ca.sign(request({ publicKey: `${publicKey} ${'x'.repeat(10_000)}` }))).rejects.toThrow('longer than');
  });

  test.each([60, 90, 3_599])('caa-011: %i s from now, to the second', async (ttlSeconds) => {
    const before = Math.floor(Date.now() / 1_000);
    const { certificate, validBefore } = await ca.sign(request({ ttlSeconds }));
    const to = /to (\S+)/.exec(await inspect(certificate))?.[1];
    expect(`${to}Z`).toBe(validBefore);
    const seconds = Date.parse(validBefore) / 1_000 - before;
    expect([ttlSeconds, ttlSeconds + 1]).toContain(seconds);
  });

  test('caa-012: a guest whose clock is 90 s behind is in the window, at any second of the minute', async () => {
    const { validAfter, validBefore } = await ca.sign(request({ ttlSeconds: 60 }));
    const guestNow = Date.now() - 90_000;
    expect(Date.parse(validAfter)).toBeLessThan(guestNow);
    expect(Date.parse(validBefore)).toBeGreaterThan(guestNow);
  });

  test('caa-019, caa-020: permit-pty alone; no source-address (docs/security.md says why)', async () => {
    const text = await inspect((await ca.sign(request())).certificate);
    expect(text).toMatch(/Critical Options: \(none\)\s+Extensions:\s+permit-pty\s*$/);
  });

  test('caa-021: fingerprints are those of ssh-keygen -lf, of the key and of the CA', async () => {
    await writeFile(join(directory, 'key.pub'), publicKey);
    const { stdout } = await exec('ssh-keygen', ['-l', '-f', join(directory, 'key.pub')]);
    const { certificate, fingerprint, signedBy } = await ca.sign(request());
    expect(fingerprint).toBe(stdout.split(' ')[1]);
    expect(parsePublicKey(publicKey).fingerprint).toBe(fingerprint);
    expect(await inspect(certificate)).toContain(`Signing CA: ED25519 ${signedBy} `);
    expect(signedBy).toBe(await ca.signingKey());
  });

  test.each([
    ['ecdsa', '-b', '256'],
    ['ecdsa', '-b', '521'],
    ['rsa', '-b', '2048'],
  ])('the CA is found in a certificate of %s %s %s', async (type, ...rest) => {
    await exec('ssh-keygen', ['-q', '-t', type, ...rest, '-N', '', '-f', join(directory, 'other')]);
    const text = await readFile(join(directory, 'other.pub'), 'utf8');
    expect((await ca.sign(request({ publicKey: text }))).signedBy).toBe(await ca.signingKey());
  });

  test('a CA key that others can read is refused, also after it was opened', async () => {
    const path = join(directory, 'ca', 'user_ca');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await chmod(path, 0o644);
    await expect(ca.sign(request())).rejects.toThrow('only 0600 and 0400');
    await expect(UserCa.open(join(directory, 'ca'))).rejects.toThrow('only 0600 and 0400');
  });

  test('caa-015: the list that revokes a serial names that certificate and no other', async () => {
    const [one, other] = await Promise.all([ca.sign(request({ serial: 7n })), ca.sign(request({ serial: 8n }))]);
    const trust = await ca.trust([{ serial: '7', keyId: one.keyId }]);
    const list = join(directory, 'krl');
    await writeFile(list, Buffer.from(trust.revokedKeys, 'base64'));
    const isRevoked = async (certificate: string) => {
      await writeFile(join(directory, 'asked-cert.pub'), certificate);
      return exec('ssh-keygen', ['-Q', '-f', list, join(directory, 'asked-cert.pub')]).then(
        () => false,
        (error: Error) => error.message.includes('REVOKED') || /REVOKED/.test(JSON.stringify(error)),
      );
    };
    expect(await isRevoked(one.certificate)).toBe(true);
    expect(await isRevoked(other.certificate)).toBe(false);
    expect((await ca.trust([])).revokedKeys).toBe('');
    const many = Array.from({ length: 20_000 }, (_, i) => ({
      serial: `${i * 7 + 1}`,
      keyId: keyIdOf(request({ serial: BigInt(i + 1) })),
    }));
    expect((await ca.trust(many)).revokedKeys.length).toBeLessThan(262_144);
  });
});

describe('mayfly ssh', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mayfly-ssh-test-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const issued = {
    serial: '1',
    keyId: 'x',
    certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA',
    validAfter: '',
    validBefore: '',
    principal: ID,
    user: 'sandbox',
    address: '10.213.0.9',
    port: 22,
    hostKey: `${makeKeyPair('host').publicKey}`,
    knownHosts: '',
  };

  test.each([
    ['caa-027', { user: '-oProxyCommand=touch /tmp/x' }],
    ['caa-028', { user: 'x; touch /tmp/pwned; #' }],
    ['an address', { address: '-oProxyCommand=x' }],
    ['an address', { address: 'evil.example' }],
    ['a port', { port: 70_000 }],
    ['caa-029', { hostKey: '* ssh-ed25519 AAAA' }],
    ['caa-029', { hostKey: `${issued.hostKey}\n* ${issued.hostKey}` }],
    ['a certificate', { certificate: 'ssh-ed25519 AAAA' }],
  ])('%s: %j from an API is not given to ssh', async (_case, change) => {
    await expect(sshArguments(folder, ID, { ...issued, ...change })).rejects.toMatchObject({ exitCode: 1 });
    expect(await readdir(folder)).toEqual([]);
  });

  test('caa-029: the pinned host key is the only one, under the name of the sandbox', async () => {
    const argv = await sshArguments(folder, ID, issued);
    for (const option of ['StrictHostKeyChecking=yes', 'GlobalKnownHostsFile=none', `HostKeyAlias=${ID}`]) {
      expect(argv).toContain(option);
    }
    expect(argv.slice(0, 2)).toEqual(['-F', 'none']);
    expect(argv.slice(-2)).toEqual(['--', '10.213.0.9']);
    const [type, blob] = issued.hostKey.split(' ');
    expect(await readFile(join(folder, 'known_hosts'), 'utf8')).toBe(`${ID} ${type} ${blob}\n`);
  });
});

test('caa-024: no path is made of what is not an id', () => {
  const state = new StateDir('/var/lib/mayfly');
  for (const id of ['../../etc', 'sbx-', `${ID}/..`, 'src-../../etc']) expect(() => state.credentialsOf(id)).toThrow();
});
