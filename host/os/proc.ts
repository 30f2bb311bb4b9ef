import { readdirSync, readFileSync } from 'node:fs';

/** The processes that this one can see, by their ids in its own PID namespace (proc(5)). */
export function processNames(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** What stands in a file below /proc; null when its process has ended, or is another user's. */
export function readOrGone(path: string): string | null {
  return orGone(() => readFileSync(path, 'utf8'));
}

/** Null: the process has ended (ENOENT, ESRCH), or is another user's (EACCES, EPERM), so not one of ours. */
export function orGone<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return null;
    throw error;
  }
}

/** When a process began, in ticks since boot (proc_pid_stat(5), field 22): with its id, that names it for good. */
export function startOf(pid: number): string | null {
  const stat = readOrGone(`/proc/${pid}/stat`);
  // The name before the rest is the process's own choice: it may hold a `)`.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

/** Does nothing when the process has ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
