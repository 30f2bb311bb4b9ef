import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exec } from '../../../host/os/exec.ts';
import { keyPairFrom } from '../../../host/ssh/key-pair.ts';

/** Prefix of a 32-byte Ed25519 seed in PKCS #8 (RFC 8410 §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

function keyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

/** Returns the first seed whose public key starts with a zero byte. */
function seedOfZeroPoint(): Buffer {
  for (let n = 0; ; n++) {
    const seed = createHash('sha256').update(String(n)).digest();
    const point = Buffer.from(keyOf(seed).export({ format: 'jwk' }).x ?? '', 'base64url');
    if (point[0] === 0) return seed;
  }
}

test.each([
  ['an ordinary seed', Buffer.alloc(32, 7)],
  ['a seed that begins with zeros', Buffer.concat([Buffer.alloc(2), Buffer.alloc(30, 7)])],
  ['a public key that begins with a zero', seedOfZeroPoint()],
])('Ed25519 key pairs: OpenSSH reads the key of %s, and finds the same public key', async (_name, seed) => {
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-key-'));
  try {
    for (const comment of ['', 'a', 'sbx-0000000000000001']) {
      const { privateKey, publicKey } = keyPairFrom(keyOf(seed), comment);
      const path = join(directory, `key-${comment}`);
      await writeFile(path, privateKey, { mode: 0o600 });
      const { stdout } = await exec('ssh-keygen', ['-y', '-f', path]);
      expect(stdout.trim()).toBe(publicKey.trim());
    }
  } finally {
    await rm(directory, { recursive: true });
  }
});
