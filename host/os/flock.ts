import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fstatSync, readdirSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { MayflyError } from '../../model/errors.ts';
import { nullIfGone } from './proc.ts';

/** Exit status of flock(1) when another holds the lock. */
const HELD = 1;

/**
 * Takes an flock(2) on the open file of `file` by util-linux's program: the lock outlives that program, and the kernel
 * releases it when this process dies, so no stale lock remains.
 * @param how options of flock(1)
 * @returns false when another holds it
 * @throws MayflyError host_unavailable where the file system does not support such locks
 */
export async function tryLock(file: FileHandle, how: readonly string[]): Promise<boolean> {
  const child = spawn('flock', [...how, '3'], { stdio: ['ignore', 'ignore', 'ignore', file.fd] });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0 && code !== HELD) throw new MayflyError('host_unavailable', `flock(1) ended with ${code}.`);
  return code === 0;
}

/** Reports whether a process has the same file open; false too when it has ended, or is another user's. */
export function hasOpen(pid: number, file: FileHandle): boolean {
  const { dev, ino } = fstatSync(file.fd);
  const folder = `/proc/${pid}/fd`;
  return (nullIfGone(() => readdirSync(folder)) ?? []).some((name) => {
    const open = nullIfGone(() => statSync(`${folder}/${name}`));
    return open !== null && open.dev === dev && open.ino === ino;
  });
}
