import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Capacity } from '../../model/host.ts';
import { diskOf } from '../disk/host-disk.ts';

/** What this machine has and what is free of it. @param folder on the file system that holds the sandboxes */
export async function measureCapacity(folder: string): Promise<Capacity> {
  const memory = await readFile('/proc/meminfo', 'utf8');
  const disk = await diskOf(folder);
  return {
    cpus: availableParallelism(),
    memoryTotalMib: meminfoMib(memory, 'MemTotal'),
    memoryAvailableMib: meminfoMib(memory, 'MemAvailable'),
    diskTotalBytes: disk.totalBytes,
    diskAvailableBytes: disk.availableBytes,
  };
}

/** A line of /proc/meminfo, KiB there, MiB here. */
function meminfoMib(text: string, name: string): number {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  if (!kib) throw new Error(`/proc/meminfo has no ${name}`);
  return Math.floor(Number(kib) / 1024);
}
