import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Capacity } from '../../model/host.ts';
import { measureDisk } from '../disk/host-disk.ts';

/** Measures this machine's total and free capacity. @param folder on the file system that holds the sandboxes */
export async function measureCapacity(folder: string): Promise<Capacity> {
  const memory = await readFile('/proc/meminfo', 'utf8');
  const disk = await measureDisk(folder);
  return {
    cpus: availableParallelism(),
    memoryTotalMib: meminfoMib(memory, 'MemTotal'),
    memoryAvailableMib: meminfoMib(memory, 'MemAvailable'),
    diskTotalBytes: disk.totalBytes,
    diskAvailableBytes: disk.availableBytes,
  };
}

/** Reads a line of /proc/meminfo, in KiB, as MiB. */
function meminfoMib(text: string, name: string): number {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  if (!kib) throw new Error(`/proc/meminfo has no ${name}`);
  return Math.floor(Number(kib) / 1024);
}
