import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { link, lstat, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import ssh2 from 'ssh2';
import { orAbsent } from '../host/os/absent.ts';
import { flush, writeFileSynced } from '../host/os/atomic-file.ts';
import { makeKeyPair } from '../host/ssh/key-pair.ts';

/**
 * Creates a private key (0600) and its folder (0700) unless it exists. Of two concurrent calls `link` lets exactly one
 * win.
 * @param make returns the text of a new key
 */
export async function ensureKey(path: string, make: () => string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await orAbsent(readFile(path))) !== null) return;
  const scratch = await mkdtemp(join(folder, '.new-'));
  try {
    const candidate = join(scratch, basename(path));
    await writeFileSynced(candidate, make(), 0o600, 'wx');
    await link(candidate, path);
    await flush(folder);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Returns a new key of the user CA, in OpenSSH's format. */
export function createCaKey(): string {
  return makeKeyPair('mayfly-user-ca').privateKey;
}

/**
 * @param what name of the key in errors; `@default` CA key
 * @throws Error when others can read or write the key, or it is not a file of our own
 */
export async function assertPrivate(path: string, what = 'CA key'): Promise<void> {
  const about = await lstat(path);
  const mode = about.mode & 0o7777;
  const shown = mode.toString(8).padStart(4, '0');
  if (!about.isFile()) throw new Error(`The ${what} ${path} is not a regular file. Move the key itself there.`);
  if (mode !== 0o600 && mode !== 0o400) {
    throw new Error(
      `The ${what} ${path} has mode ${shown}; only 0600 and 0400 are accepted. ` +
        `If nobody else can have read it: chmod 600 ${path}. Otherwise make a new key.`,
    );
  }
  if (about.uid !== process.getuid?.()) {
    throw new Error(`The ${what} ${path} belongs to uid ${about.uid}. Run Mayfly as that user, or chown the key.`);
  }
}

/** Returns the public half of a private key file. @throws Error for any key but Ed25519 */
export async function readPublicLine(path: string): Promise<string> {
  const key = ssh2.utils.parseKey(await readFile(path));
  if (key instanceof Error || !key.isPrivateKey() || key.type !== 'ssh-ed25519') {
    throw new Error(`${path} is not an unencrypted Ed25519 private key in OpenSSH format. Restore it from a backup.`);
  }
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

/** Returns a new Ed25519 key: PKCS #8 in PEM. */
export function newSigningKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** Reads a key of {@link newSigningKey}. @throws Error when others may read it, or it is another kind of key */
export async function readSigningKey(path: string, what: string, remedy: string): Promise<KeyObject> {
  await assertPrivate(path, what);
  const key = createPrivateKey(await readFile(path));
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`${path} is not an Ed25519 private key. ${remedy}`);
}
