import { randomBytes } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { ensureKey } from '../../ca/key-file.ts';
import { orAbsent } from '../../host/os/absent.ts';
import { MayflyError } from '../../model/errors.ts';

const BYTES = 32;

/** The key of the audit chain, see {@link secretKey}. */
export function auditKey(path: string): Promise<Uint8Array> {
  return secretKey(path, 'audit key');
}

/**
 * Returns a key of 256 random bits, created at the first start, readable by this user alone.
 * @param what name of the key, for errors
 * @throws MayflyError internal when others may read it, or when it is not a key
 */
export async function secretKey(path: string, what: string): Promise<Uint8Array> {
  const present = await readSecret(path, what);
  if (present) return present;
  await ensureKey(path, () => `${randomBytes(BYTES).toString('hex')}\n`);
  const made = await readSecret(path, what);
  if (!made) throw new MayflyError('internal', `the ${what} ${path} vanished while it was made`);
  return made;
}

async function readSecret(path: string, what: string): Promise<Uint8Array | null> {
  const file = await orAbsent(open(path, 'r'));
  if (!file) return null;
  try {
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0)
      throw new MayflyError('internal', `the ${what} ${path} may be read by others; chmod 600 it`);
    const key = Buffer.from((await readFile(file, 'utf8')).trim(), 'hex');
    if (key.length !== BYTES) throw new MayflyError('internal', `${path} is no ${what}; restore it from your backup`);
    return key;
  } finally {
    await file.close();
  }
}
