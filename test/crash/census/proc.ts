import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The numbers of all processes. */
export function pids(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** A file of a process (proc(5)); empty when the process has ended. */
export function textOf(pid: string, file: string): string {
  return orEmpty(() => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
}

/** Where a link of a process leads; empty when the process has ended, or has no such link any more. */
export function linkOf(pid: string, link: string): string {
  return orEmpty(() => readlinkSync(`/proc/${pid}/${link}`));
}

/** Ended meanwhile; a zombie, which holds nothing; or an init so guarded that not even root may look. */
function orEmpty(read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
