import { readdirSync, readFileSync } from 'node:fs';

/** Returns the visible processes by their ids in this PID namespace (proc(5)). */
export function processNames(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** Returns a file below /proc; null when its process has ended, or is another user's. */
export function readOrGone(path: string): string | null {
  return nullIfGone(() => readFileSync(path, 'utf8'));
}

/** Returns null when the process has ended (ENOENT, ESRCH), or is another user's (EACCES, EPERM). */
export function nullIfGone<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return null;
    throw error;
  }
}

/** Returns the start of a process, in ticks since boot (proc_pid_stat(5), field 22): unique together with its id. */
export function getStartTime(pid: number): string | null {
  const stat = readOrGone(`/proc/${pid}/stat`);
  // The process chooses the name before the rest: it may hold a `)`.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

/** Sends a signal. No-op when the process has ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
