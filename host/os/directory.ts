import { chmod, chown, lstat, mkdir, readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { orAbsent } from './absent.ts';

/** Returns the names in a directory; null when it is missing. */
export function entriesOf(path: string): Promise<string[] | null> {
  return orAbsent(readdir(path));
}

/** Reports whether a path exists; a symbolic link is not followed. */
export async function isThere(path: string): Promise<boolean> {
  return (await orAbsent(lstat(path))) !== null;
}

/** Makes a folder that every user may traverse but only its owner may list; an existing folder keeps its mode. */
export async function makeSearchable(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await chmod(made, 0o711);
}

/**
 * Makes a folder that no other user may enter, and gives an existing one that mode.
 * @param group its processes may traverse to names that they know, and it owns all that is made below
 */
export async function makePrivate(path: string, group?: number): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (group !== undefined) await chown(path, process.geteuid?.() ?? 0, group);
  await chmod(path, group === undefined ? 0o700 : 0o2710);
}
