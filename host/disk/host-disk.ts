import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostDisk } from '../../model/snapshots/storage.ts';
import { orAbsent } from '../os/absent.ts';
import { entriesOf } from '../os/directory.ts';

/** The file system that a folder is on, as an ordinary user may use it: what is kept for root is not available. */
export async function diskOf(folder: string): Promise<HostDisk> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return { totalBytes: blocks * bsize, availableBytes: bavail * bsize };
}

/** Bytes that the files of a folder take; 0 when it is not there. */
export async function allocatedIn(folder: string): Promise<number> {
  let sum = 0;
  for (const name of (await entriesOf(folder)) ?? []) {
    const file = await orAbsent(stat(join(folder, name)));
    sum += (file?.blocks ?? 0) * 512;
  }
  return sum;
}
