import { readFileSync } from 'node:fs';

/** Of /proc: a tick is a hundredth of a second on Linux, for every program. Milliseconds. */
const TICK_MS = 10;

/**
 * Calls back when a process has used so much processor time from now on, which a busy machine makes no shorter.
 * It does not hold our own process.
 * @param limitMs at 10 ms each, of all threads of the process
 * @returns ends the watch
 */
export function afterProcessorTime(pid: number, limitMs: number, used: () => void): () => void {
  const begun = processorMs(pid);
  const look = (): void => {
    const left = limitMs - (processorMs(pid) - begun);
    if (left <= 0) used();
    else timer = setTimeout(look, Math.max(left, TICK_MS)).unref();
  };
  let timer = setTimeout(look, limitMs).unref();
  return () => clearTimeout(timer);
}

/** @returns milliseconds; 0 of a process that is gone, whose end says the rest */
function processorMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const [user, system] = [fields[11], fields[12]]; // utime and stime of proc_pid_stat(5), counted from the state
    return (Number(user) + Number(system)) * TICK_MS;
  } catch {
    return 0;
  }
}
