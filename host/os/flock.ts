import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fstatSync, readdirSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { MayflyError } from '../../model/errors.ts';
import { orGone } from './proc.ts';

/** flock(1): the lock is held by another. */
const HELD = 1;

/**
 * Takes an flock(2) on what `file` has open, by the program that util-linux has for it: the lock stays with us when that has
 * ended, and the kernel lets go of it the moment we die, so nothing stale is ever left.
 * @param how options of flock(1)
 * @returns false when another holds it
 * @throws MayflyError host_unavailable where the file system knows no such locks
 */
export async function locked(file: FileHandle, how: readonly string[]): Promise<boolean> {
  const child = spawn('flock', [...how, '3'], { stdio: ['ignore', 'ignore', 'ignore', file.fd] });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0 && code !== HELD) throw new MayflyError('host_unavailable', `flock(1) ended with ${code}.`);
  return code === 0;
}

/** Whether a process has open what `file` has; false too when it has ended, or is not ours to look at. */
export function hasOpen(pid: number, file: FileHandle): boolean {
  const { dev, ino } = fstatSync(file.fd);
  const folder = `/proc/${pid}/fd`;
  return (orGone(() => readdirSync(folder)) ?? []).some((name) => {
    const open = orGone(() => statSync(`${folder}/${name}`));
    return open !== null && open.dev === dev && open.ino === ino;
  });
}
