import { createHash, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { ensureKey } from '../../ca/key-file.ts';
import { isNotFound } from '../../host/os/absent.ts';
import { MayflyError } from '../../model/errors.ts';

const BYTES = 32;

/** AES-256 key with the name that its payloads carry. */
export interface PayloadKey {
  /** First 16 hex digits of the SHA-256 of the key. */
  id: string;
  key: Uint8Array;
}

/** The first key encrypts, all decrypt. */
export type PayloadKeys = readonly [PayloadKey, ...PayloadKey[]];

/**
 * Reads the keys of a file, one of 64 hex digits a line: the first encrypts, all decrypt.
 * @param makes creates a missing file with a key of 256 random bits, readable by this user alone
 * @throws MayflyError payload_key_unusable when there is none, others may read it, or it has other content
 */
export async function payloadKeys(path: string, makes = false): Promise<PayloadKeys> {
  const text = (await readPrivate(path)) ?? (makes ? await make(path) : null);
  if (text === null) throw unusable(`There is no ${path}`);
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const [first, ...others] = lines.map((line) => keyOf(line.trim(), path));
  if (!first) throw unusable(`${path} has no key`);
  return [first, ...others];
}

function keyOf(line: string, path: string): PayloadKey {
  const key = Buffer.from(line, 'hex');
  if (line.length !== 2 * BYTES || key.length !== BYTES)
    throw unusable(`A line of ${path} is not a key of 64 hex digits`);
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 16), key };
}

async function readPrivate(path: string): Promise<string | null> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (isNotFound(error)) return null;
    throw unusable(`${path} cannot be read`, error);
  }
  try {
    if (((await file.stat()).mode & 0o077) !== 0) throw unusable(`${path} may be read by others; chmod 600 it`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function make(path: string): Promise<string | null> {
  await ensureKey(path, () => `${randomBytes(BYTES).toString('hex')}\n`);
  return readPrivate(path);
}

function unusable(why: string, cause?: unknown): MayflyError {
  return new MayflyError('payload_key_unusable', `${why}.`, { cause });
}
