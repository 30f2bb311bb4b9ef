import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parsePublicKey } from '../../ca/public-key.ts';
import { signUserCertificate } from '../../ca/user-certificate.ts';
import { exec } from '../../host/os/exec.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { useFreshFolder } from '../support/use-folder.ts';

/** Work folder of ssh-keygen, which verifies: it refuses to show a certificate with a wrong signature or form. */
const directory = useFreshFolder();

async function shown(certificates: string[]): Promise<string> {
  const path = join(directory, 'shown-cert.pub');
  await writeFile(path, certificates.map((line) => `${line}\n`).join(''));
  const { stdout } = await exec('ssh-keygen', ['-L', '-f', path], { env: { TZ: 'UTC' } });
  return stdout;
}

function userOf(publicKey: string) {
  const validAfter = Date.parse('2026-01-02T03:04:05Z') / 1000;
  return {
    key: parsePublicKey(publicKey),
    serial: 7n,
    keyId: 'agent=- key=k',
    principal: 'sbx-0000000000000001',
    validAfter,
    validBefore: validAfter + 3_600,
    extensions: ['permit-pty'],
  };
}

test('OpenSSH accepts every certificate of 300 CA keys and 300 user keys, with any first bytes', async () => {
  const users = Array.from({ length: 300 }, () => userOf(makeKeyPair('guest').publicKey));
  const certificates = users.map((user) => {
    const { certificate } = signUserCertificate(Buffer.from(makeKeyPair('ca').privateKey), user);
    return certificate;
  });
  const lines = (await shown(certificates)).split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line.startsWith('Public key: '));
  expect(keys).toEqual(users.map(({ key }) => `Public key: ED25519-CERT ${key.fingerprint}`));
  expect(lines.filter((line) => line === 'Valid: from 2026-01-02T03:04:05 to 2026-01-02T04:04:05')).toHaveLength(300);
});

test.each([
  ['ssh-ed25519', []],
  ['ssh-rsa', ['-b', '2048']],
  ['ecdsa-sha2-nistp256', ['-b', '256']],
  ['ecdsa-sha2-nistp384', ['-b', '384']],
  ['ecdsa-sha2-nistp521', ['-b', '521']],
])('a key of type %s is certified exactly as ssh-keygen does', async (type, bits) => {
  const [user, ca] = ['user', 'ca'].map((name) => join(directory, name)) as [string, string];
  const kind = type.replace(/^ssh-|-sha2.*$/g, '');
  await exec('ssh-keygen', ['-q', '-t', kind, ...bits, '-N', '', '-C', '', '-f', user]);
  await writeFile(ca, makeKeyPair('ca').privateKey, { mode: 0o600 });
  const subject = ['-I', 'agent=- key=k', '-n', 'sbx-0000000000000001', '-z', '7'];
  const validity = ['-V', '20260102030405Z:20260102040405Z'];
  const rights = ['-O', 'clear', '-O', 'permit-pty'];
  await exec('ssh-keygen', ['-q', '-s', ca, ...subject, ...validity, ...rights, `${user}.pub`]);
  const theirs = await readFile(`${user}-cert.pub`, 'utf8');
  const publicKey = (await readFile(`${user}.pub`, 'utf8')).trim();
  const { certificate, signedBy } = signUserCertificate(await readFile(ca), userOf(publicKey));
  expect(await shown([certificate])).toBe(await shown([theirs.trim()]));
  expect(await shown([certificate])).toContain(`Signing CA: ED25519 ${signedBy}`);
  expect(certificate.split(' ')[0]).toBe(`${type}-cert-v01@openssh.com`);
});

test('an invalid CA key is refused without being quoted', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ format: 'pem', type: 'sec1' });
  for (const text of ['not a key', String(pem)]) {
    const sign = () => signUserCertificate(Buffer.from(text), userOf(makeKeyPair('guest').publicKey));
    expect(sign).toThrow('the CA key is not an unencrypted Ed25519 private key in OpenSSH format');
  }
});
