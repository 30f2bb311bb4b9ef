import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent } from '../host/os/absent.ts';
import { flush, writeFileAtomic } from '../host/os/atomic-file.ts';
import { MayflyError } from '../model/errors.ts';
import { assertPrivate, createCaKey, ensureKey, readPublicLine } from './key-file.ts';
import { parsePublicKey } from './public-key.ts';

/**
 * `none`: one key signs and is trusted. `begun`: the next key is trusted too, the old one signs. `finished`: the new one
 * signs, the previous is still trusted.
 */
type RotationStage = 'none' | 'begun' | 'finished';

/** Keys in the folder of a CA. Lines without comments. */
export interface CaKeys {
  stage: RotationStage;
  current: string;
  next: string | null;
  previous: string | null;
}

const CURRENT = 'user_ca';
const NEXT = 'user_ca_next';
const NEXT_PUBLIC = 'user_ca_next.pub';
const PREVIOUS_PUBLIC = 'user_ca_previous.pub';

export function signingKeyPath(directory: string): string {
  return join(directory, CURRENT);
}

/**
 * Reads the keys from the folder: another process may have advanced the rotation, or be doing so. A crash in the middle
 * of a step leaves a stage that counts as the one before or the one after, and the step can be repeated.
 */
export async function readKeys(directory: string): Promise<CaKeys> {
  const current = await readPublicLine(signingKeyPath(directory));
  const next = await otherKey(directory, NEXT_PUBLIC, current);
  const previous = await otherKey(directory, PREVIOUS_PUBLIC, current);
  // While the current key is the same before and after, both others belong to it: see the order in finishRotation.
  if ((await readPublicLine(signingKeyPath(directory))) !== current) return readKeys(directory);
  return { stage: next ? 'begun' : previous ? 'finished' : 'none', current, next, previous };
}

/** Creates the next key, which new guests trust from now on. It signs nothing yet. */
export async function beginRotation(directory: string): Promise<void> {
  const { stage } = await readKeys(directory);
  if (stage === 'finished')
    throw outOfOrderError('the key before is still trusted', 'Run `mayfly ca rotate --forget` first.');
  const path = join(directory, NEXT);
  await ensureKey(path, createCaKey);
  await assertPrivate(path);
  await writeFileAtomic(join(directory, NEXT_PUBLIC), `${await readPublicLine(path)}\n`, 0o644);
}

/** Makes the next key the signing one. To be called when every guest trusts it. */
export async function finishRotation(directory: string): Promise<void> {
  const keys = await readKeys(directory);
  if (keys.stage === 'finished') return;
  if (keys.stage === 'none') throw outOfOrderError('there is no next key', 'Run `mayfly ca rotate --begin` first.');
  await assertPrivate(join(directory, NEXT));
  // In this order each crash in between leaves all keys trusted that have signed anything.
  await writeFileAtomic(join(directory, PREVIOUS_PUBLIC), `${keys.current}\n`, 0o644);
  await rename(join(directory, NEXT), signingKeyPath(directory));
  await flush(directory);
  await rm(join(directory, NEXT_PUBLIC), { force: true });
}

/** Ends the trust in the previous key. To be called when nothing that it signed is needed. */
export async function distrustPreviousKey(directory: string): Promise<void> {
  const { stage } = await readKeys(directory);
  if (stage === 'begun')
    throw outOfOrderError('the next key does not sign yet', 'Run `mayfly ca rotate --finish` first.');
  for (const name of [PREVIOUS_PUBLIC, NEXT_PUBLIC]) await rm(join(directory, name), { force: true });
  await flush(directory);
}

async function otherKey(directory: string, name: string, current: string): Promise<string | null> {
  const line = await orAbsent(readFile(join(directory, name), 'utf8'));
  const key = line === null ? null : parsePublicKey(line).line;
  return key === current ? null : key;
}

function outOfOrderError(why: string, remedy: string): MayflyError {
  return new MayflyError('invalid_request', `The CA key cannot be moved on: ${why}. ${remedy}`);
}
