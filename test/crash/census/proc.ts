import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export function pids(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** Returns a file of a process (proc(5)); empty when the process has ended. */
export function textOf(pid: string, file: string): string {
  return orEmpty(() => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
}

/** Returns the target of a process's link; empty when the process has ended, or has no such link. */
export function linkOf(pid: string, link: string): string {
  return orEmpty(() => readlinkSync(`/proc/${pid}/${link}`));
}

/** Returns '' for an ended process, a zombie, or an init that even root may not inspect. */
function orEmpty(read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
