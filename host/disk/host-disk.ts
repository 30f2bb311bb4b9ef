import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostDisk } from '../../model/snapshots/storage.ts';
import { orAbsent } from '../os/absent.ts';
import { entriesOf } from '../os/directory.ts';

/** Returns the size of a folder's file system and its free space, without blocks reserved for root. */
export async function measureDisk(folder: string): Promise<HostDisk> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return { totalBytes: blocks * bsize, availableBytes: bavail * bsize };
}

/** Returns the bytes allocated to the files of a folder; 0 when it is absent. */
export async function allocatedIn(folder: string): Promise<number> {
  let sum = 0;
  for (const name of (await entriesOf(folder)) ?? []) {
    const file = await orAbsent(stat(join(folder, name)));
    sum += (file?.blocks ?? 0) * 512;
  }
  return sum;
}
