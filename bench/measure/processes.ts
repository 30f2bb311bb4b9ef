import { readdir, readFile } from 'node:fs/promises';
import { orAbsent } from '../../host/os/absent.ts';

/** Of times in /proc/PID/stat, on every Linux. Per second. */
const TICKS = 100;
const KIB_PER_MIB = 1_024;
/** Servers that an installation starts. Guests, and what holds them, are its children too, and not its own. */
const SERVERS = ['temporal', 'mayfly-store', 'mongod'];

/** What one process has used so far. */
export interface Usage {
  name: string;
  cpuSeconds: number;
  /** Of children that have ended. */
  childrenCpuSeconds: number;
  residentMib: number;
}

/** What the process of an installation and its servers have used; libvirtd and the guests are the machine's. */
export async function usageOf(pid: number): Promise<Usage[]> {
  const all = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .map(statOf),
  );
  const own = all.filter(
    (one) => one !== null && (one.pid === pid || (one.parent === pid && SERVERS.includes(one.name))),
  );
  return Promise.all(
    own
      .flatMap((one) => (one === null ? [] : [one]))
      .map(async ({ pid: of, name, cpuSeconds, childrenCpuSeconds }) => {
        const status = await readFile(`/proc/${of}/status`, 'utf8');
        const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
        return { name: of === pid ? 'mayfly' : name, cpuSeconds, childrenCpuSeconds, residentMib: kib / KIB_PER_MIB };
      }),
  );
}

/** proc(5), `stat`; null when the process has ended. */
async function statOf(pid: number) {
  const text = await orAbsent(readFile(`/proc/${pid}/stat`, 'utf8')).catch(() => null); // ended while it was read
  const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(text ?? '') ?? [];
  if (name === undefined || rest === undefined) return null;
  const fields = rest.split(' ').map(Number);
  const seconds = (...from: number[]) => from.reduce((sum, index) => sum + (fields[index] ?? 0), 0) / TICKS;
  return { pid, name, parent: fields[1] ?? 0, cpuSeconds: seconds(11, 12), childrenCpuSeconds: seconds(13, 14) };
}
