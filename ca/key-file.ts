import { link, lstat, mkdtemp, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import ssh2 from 'ssh2';
import { syncDirectory, writeFileSynced } from '../host/os/atomic-file.ts';
import { isNotFound } from '../host/os/directory.ts';
import { makeKeyPair } from '../host/ssh/key-pair.ts';

/**
 * Makes a private key (0600) unless there is one. Two may try at once: `link` lets exactly one key win, and it is whole
 * when it appears.
 * @param make the text of a new one
 */
export async function ensureKey(directory: string, path: string, make: () => string): Promise<void> {
  if ((await readIfThere(path)) !== null) return;
  const scratch = await mkdtemp(join(directory, '.new-'));
  try {
    const candidate = join(scratch, basename(path));
    await writeFileSynced(candidate, make(), 0o600, 'wx');
    await link(candidate, path);
    await syncDirectory(directory);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** A new key of the user CA, as OpenSSH writes one. */
export function newCaKey(): string {
  return makeKeyPair('mayfly-user-ca').privateKey;
}

/**
 * @param what it is, for who reads the error; `@default` CA key
 * @throws Error when the key can be read or written by others, or is not a file of our own
 */
export async function checkPrivate(path: string, what = 'CA key'): Promise<void> {
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

/** The public half of a private key file. @throws Error when it is no Ed25519 key */
export async function publicLineOf(path: string): Promise<string> {
  const key = ssh2.utils.parseKey(await readFile(path));
  if (key instanceof Error || !key.isPrivateKey() || key.type !== 'ssh-ed25519') {
    throw new Error(`${path} is not an unencrypted Ed25519 private key in OpenSSH format. Restore it from a backup.`);
  }
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
