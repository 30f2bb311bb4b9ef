import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type CertificateRequest, formatKeyId } from '../../ca/certificate.ts';
import { UserCa } from '../../ca/user-ca.ts';
import { exec } from '../../host/os/exec.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { useFreshFolder } from '../support/use-folder.ts';

const ID = 'sbx-0000000000000001';
const { publicKey } = makeKeyPair('guest');

function request(change: Partial<CertificateRequest> = {}): CertificateRequest {
  return {
    sandboxId: ID,
    publicKey,
    actor: { apiKeyId: 'key1', agentId: 'agent-7', project: 'default' },
    source: 'golden-debian12',
    serial: 41n,
    ...change,
  };
}

const asAgent = (agentId: string) => request({ actor: { apiKeyId: 'key1', agentId, project: 'default' } });

/** Parses the fields of an identity, as a reader of sshd's log would. */
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
  ])('%s: %j can forge no field, and is decoded unchanged', (_case, agentId) => {
    const keyId = formatKeyId(asAgent(agentId));
    expect(keyId).toMatch(/^[\x21-\x7e]+( [\x21-\x7e]+){4}$/);
    expect(fieldsOf(keyId)).toEqual({
      agent: agentId,
      key: 'key1',
      source: 'golden-debian12',
      sandbox: ID,
      certificate: '41',
    });
  });

  test('caa-005: a source and an API key are encoded too; no agent differs from the agent "-"', () => {
    const keyId = formatKeyId(
      request({ source: 'a b=c', actor: { apiKeyId: 'k sandbox=x', agentId: null, project: 'default' } }),
    );
    expect(keyId).toBe(`agent=- key=k%20sandbox%3Dx source=a%20b%3Dc sandbox=${ID} certificate=41`);
    expect(formatKeyId(asAgent('-'))).toContain('agent=%2D ');
  });

  test('caa-007: an agent id that the API refuses is refused here too', () => {
    for (const agentId of ['x'.repeat(70_000), 'x'.repeat(129), '']) {
      expect(() => formatKeyId(asAgent(agentId))).toThrow('1 to 128 characters');
    }
  });

  test("caa-007: an accepted agent id fits a line of sshd's log, and two long ones stay distinct", () => {
    const long = '\u{1f41d}'.repeat(63);
    const [one, other] = [`${long}a`, `${long}b`].map((agentId) => formatKeyId({ ...asAgent(agentId), source: long }));
    expect(one?.length).toBeLessThan(400);
    expect(one).not.toBe(other);
    expect(one).toMatch(/ sandbox=sbx-0000000000000001 certificate=41$/);
  });

  test('a certificate for a source is marked as one', () => {
    expect(formatKeyId(request({ sandboxId: 'src-0000000000000001' }))).toContain(' sourceId=src-0000000000000001 ');
  });
});

describe('UserCa', () => {
  const directory = useFreshFolder();
  let ca: UserCa;

  beforeEach(async () => {
    ca = await UserCa.open(directory);
  });

  /** Returns the trimmed lines that ssh-keygen prints for a certificate. */
  async function inspect(certificate: string): Promise<string[]> {
    const path = join(directory, 'shown-cert.pub');
    await writeFile(path, certificate);
    const { stdout } = await exec('ssh-keygen', ['-L', '-f', path], { env: { TZ: 'UTC' } });
    return stdout.split('\n').map((line) => line.trim());
  }

  test('one principal, permit-pty alone, no critical option, the given serial (caa-019)', async () => {
    const { certificate, keyId, fingerprint, signedBy } = await ca.sign(request());
    const lines = await inspect(certificate);
    expect(keyId).toBe('agent=agent-7 key=key1 source=golden-debian12 sandbox=sbx-0000000000000001 certificate=41');
    expect(lines).toContain('Type: ssh-ed25519-cert-v01@openssh.com user certificate');
    expect(lines).toContain(`Public key: ED25519-CERT ${fingerprint}`);
    expect(lines).toContain(`Key ID: "${keyId}"`);
    expect(lines).toContain('Serial: 41');
    expect(lines.find((line) => line.startsWith('Signing CA:'))).toContain(`ED25519 ${signedBy} `);
    expect(signedBy).toBe(await ca.signingKey());
    const principals = lines.indexOf('Principals:');
    expect(lines.slice(principals)).toEqual([
      'Principals:',
      ID,
      'Critical Options: (none)',
      'Extensions:',
      'permit-pty',
      '',
    ]);
  });

  test.each([60, 90, 1_800, 3_600])(
    'lives %i s to the second, and is valid since two minutes ago (caa-011, caa-012)',
    async (ttl) => {
      const before = Math.floor(Date.now() / 1000);
      const signed = await ca.sign(request({ ttlSeconds: ttl }));
      const [, from = '', to = ''] =
        /Valid: from (\S+) to (\S+)/.exec((await inspect(signed.certificate)).join('\n')) ?? [];
      expect([`${from}Z`, `${to}Z`]).toEqual([signed.validAfter, signed.validBefore]);
      expect(Date.parse(signed.validBefore) - Date.parse(signed.validAfter)).toBe((ttl + 120) * 1000);
      expect(Date.parse(signed.validAfter) / 1000 - (before - 120)).toBeLessThanOrEqual(2);
    },
  );

  test.each([59, 3_601, 90.5, Number.NaN, -1])('a lifetime of %s s is refused', async (ttlSeconds) => {
    await expect(ca.sign(request({ ttlSeconds }))).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test.each([
    'sandbox,root',
    '-Oclear',
    '*',
    'sändbox',
    'root',
    '',
    `${ID},root`,
    `${ID}\n`,
    '../../etc',
    'x; touch /tmp/pwned; #',
  ])('the principal %j is refused (caa-001 to caa-004, caa-024, caa-028)', async (sandboxId) => {
    await expect(ca.sign(request({ sandboxId }))).rejects.toMatchObject({ code: 'invalid_id' });
  });

  test.each([0n, -1n, 2n ** 64n])('the serial %s is refused', async (serial) => {
    await expect(ca.sign(request({ serial }))).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('the largest serial survives', async () => {
    const { certificate } = await ca.sign(request({ serial: 2n ** 64n - 1n }));
    expect(await inspect(certificate)).toContain('Serial: 18446744073709551615');
  });

  test('concurrent starts make the key once, and leave no other file', async () => {
    const fresh = join(directory, 'fresh');
    const opened = await Promise.all(Array.from({ length: 8 }, () => UserCa.open(fresh)));
    const keys = await Promise.all(opened.map((each) => each.publicKeys()));
    expect(new Set(keys.flat()).size).toBe(1);
    expect(await readdir(fresh)).toEqual(['user_ca']);
    expect((await stat(join(fresh, 'user_ca'))).mode & 0o7777).toBe(0o600);
    expect((await stat(fresh)).mode & 0o777).toBe(0o700);
    const { stdout } = await exec('ssh-keygen', ['-y', '-f', join(fresh, 'user_ca')]);
    expect(keys[0]).toEqual([stdout.trim().split(' ').slice(0, 2).join(' ')]);
  });

  test.each([0o644, 0o640, 0o660, 0o604, 0o700, 0o200])('a CA key with mode %o is refused', async (mode) => {
    await chmod(join(directory, 'user_ca'), mode);
    await expect(UserCa.open(directory)).rejects.toThrow('only 0600 and 0400 are accepted');
    await expect(ca.sign(request())).rejects.toThrow('only 0600 and 0400 are accepted');
  });

  test('0400 is accepted; a symbolic link or another file than a key is refused', async () => {
    const path = join(directory, 'user_ca');
    await chmod(path, 0o400);
    await UserCa.open(directory);
    await rm(path);
    await writeFile(join(directory, 'elsewhere'), 'not a key', { mode: 0o600 });
    await symlink(join(directory, 'elsewhere'), path);
    await expect(UserCa.open(directory)).rejects.toThrow('not a regular file');
    await rm(path);
    await writeFile(path, 'not a key', { mode: 0o600 });
    await expect(UserCa.open(directory)).rejects.toThrow('not an unencrypted Ed25519 private key');
    expect(await readFile(path, 'utf8')).toBe('not a key');
  });

  test('signing leaves nothing in the folder of temporary files', async () => {
    vi.stubEnv('TMPDIR', await mkdtemp(join(directory, 'tmp-')));
    await ca.sign(request());
    await expect(ca.sign(request({ publicKey: 'ssh-ed25519 AAAA' }))).rejects.toMatchObject({
      code: 'public_key_refused',
    });
    expect(await readdir(tmpdir())).toEqual([]);
    vi.unstubAllEnvs();
  });
  test.each(['bob\nroot', 'bob-vm:prod-sbx:SBX-9-cert:00', 'two words'])(
    'caa-005, caa-006: %j is encoded in the certificate',
    async (agentId) => {
      const { certificate, keyId } = await ca.sign(asAgent(agentId));
      expect(await inspect(certificate)).toContain(`Key ID: "${keyId}"`);
    },
  );

  test('caa-015: the list that revokes a serial matches that certificate and no other', async () => {
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
      keyId: formatKeyId(request({ serial: BigInt(i + 1) })),
    }));
    expect((await ca.trust(many)).revokedKeys.length).toBeLessThan(262_144);
  });
});
