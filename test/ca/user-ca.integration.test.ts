import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CertificateRequest } from '../../ca/certificate.ts';
import { UserCa } from '../../ca/user-ca.ts';
import { exec } from '../../host/os/exec.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';

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

describe('UserCa', () => {
  let directory: string;
  let ca: UserCa;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mayfly-ca-'));
    ca = await UserCa.open(directory);
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** What ssh-keygen says of a certificate, one trimmed line each. */
  async function inspect(certificate: string): Promise<string[]> {
    const path = join(directory, 'shown-cert.pub');
    await writeFile(path, certificate);
    const { stdout } = await exec('ssh-keygen', ['-L', '-f', path], { env: { TZ: 'UTC' } });
    return stdout.split('\n').map((line) => line.trim());
  }

  test('one principal, permit-pty alone, no critical option, the given serial (caa-019)', async () => {
    const { certificate, keyId, fingerprint } = await ca.sign(request());
    const lines = await inspect(certificate);
    expect(keyId).toBe('agent=agent-7 key=key1 source=golden-debian12 sandbox=sbx-0000000000000001 certificate=41');
    expect(lines).toContain('Type: ssh-ed25519-cert-v01@openssh.com user certificate');
    expect(lines).toContain(`Public key: ED25519-CERT ${fingerprint}`);
    expect(lines).toContain(`Key ID: "${keyId}"`);
    expect(lines).toContain('Serial: 41');
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
    'lives %i s to the second, and began two minutes ago (caa-011, caa-012)',
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

  test.each(['sandbox,root', '-Oclear', '*', 'sändbox', 'root', '', `${ID},root`, `${ID}\n`])(
    'the principal %j is refused (caa-001 to caa-004)',
    async (sandboxId) => {
      await expect(ca.sign(request({ sandboxId }))).rejects.toMatchObject({ code: 'invalid_id' });
    },
  );

  test.each([0n, -1n, 2n ** 64n])('the serial %s is refused', async (serial) => {
    await expect(ca.sign(request({ serial }))).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('the largest serial survives', async () => {
    const { certificate } = await ca.sign(request({ serial: 2n ** 64n - 1n }));
    expect(await inspect(certificate)).toContain('Serial: 18446744073709551615');
  });

  test('the key is made once, also by many that start at once, and nothing else is left', async () => {
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

  test('0400 is accepted; a symbolic link or something else than the key is not', async () => {
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
});
