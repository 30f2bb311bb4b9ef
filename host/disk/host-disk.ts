import { statfs } from 'node:fs/promises';
import type { HostDisk } from '../../model/storage.ts';

/** The file system that a folder is on, as an ordinary user may use it: what is kept for root is not available. */
export async function diskOf(folder: string): Promise<HostDisk> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return { totalBytes: blocks * bsize, availableBytes: bavail * bsize };
}
