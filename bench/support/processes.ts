import { readdir, readFile } from 'node:fs/promises';
import { orAbsent } from '../../host/os/absent.ts';

/** Clock ticks per second in /proc/PID/stat, on every Linux. */
const TICKS = 100;
const KIB_PER_MIB = 1_024;
/** Servers that an installation starts. Guests and their holders are its children too, but are excluded. */
const SERVERS = ['temporal', 'mayfly-store', 'mongod'];

/** Usage of a process so far. */
export interface Usage {
  name: string;
  /** Seconds of processor time, its own and those of ended children. */
  cpuSeconds: number;
  residentMib: number;
}

/** Returns the usage of an installation's process and of its servers; libvirtd and the guests are excluded. */
export async function usageOf(pid: number): Promise<Usage[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = (await Promise.all(pids.map(statOf))).filter((one) => one !== null);
  const own = all.filter((one) => one.pid === pid || (one.parent === pid && SERVERS.includes(one.name)));
  return Promise.all(
    own.map(async ({ pid: of, name, cpuSeconds }) => {
      const status = await readFile(`/proc/${of}/status`, 'utf8');
      const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
      return { name: of === pid ? 'mayfly' : name, cpuSeconds, residentMib: Math.round(kib / KIB_PER_MIB) };
    }),
  );
}

/** Returns the processor time of this process, the programs it ran and its servers so far, s. */
export async function ownSeconds(): Promise<number> {
  return (await usageOf(process.pid)).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
}

/** Parses proc(5), `stat`; null when the process has ended. */
async function statOf(pid: number) {
  const text = await orAbsent(readFile(`/proc/${pid}/stat`, 'utf8')).catch(() => null); // ended during the read
  const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(text ?? '') ?? [];
  if (name === undefined || rest === undefined) return null;
  const fields = rest.split(' ').map(Number);
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + (fields[index] ?? 0), 0);
  return { pid, name, parent: fields[1] ?? 0, cpuSeconds: ticks / TICKS };
}
