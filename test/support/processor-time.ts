import { readFileSync } from 'node:fs';

/** Length of a tick in /proc, ms: a hundredth of a second on Linux, for every program. */
const TICK_MS = 10;

/** Returns CPU time of this process, ms, which is independent of other load. */
export function ownProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Returns CPU time of this process's ended children, ms. */
export function programsProcessorMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const [user, system] = [fields[13], fields[14]]; // cutime and cstime of proc(5), counted from the state
  return (Number(user) + Number(system)) * TICK_MS;
}
