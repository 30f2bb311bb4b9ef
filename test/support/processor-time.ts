import { readFileSync } from 'node:fs';

/** Of /proc: a tick is a hundredth of a second on Linux, for every program. */
const TICK_MS = 10;

/** Processor time that this process has used, which a busy machine makes no longer. Milliseconds. */
export function ownProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Processor time of the programs that this process has run and that have ended. Milliseconds. */
export function programsProcessorMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const [user, system] = [fields[13], fields[14]]; // cutime and cstime of proc(5), counted from the state
  return (Number(user) + Number(system)) * TICK_MS;
}
