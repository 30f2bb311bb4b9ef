import { chown, stat } from 'node:fs/promises';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type { SavedDisk } from '../../model/snapshots/snapshot.ts';
import { flush } from '../os/atomic-file.ts';
import { withStepError } from '../os/exec.ts';
import type { BaseDigests } from './base-digest.ts';
import { checkImage, virtualBytesOf } from './image.ts';

/**
 * Makes a closed qcow2 image owned by root, read-only and durable, and checks it. @param failure error code of a
 * damaged image @throws MayflyError `failure`
 */
export async function freezeImage(
  path: string,
  digests: BaseDigests,
  failure: ErrorCode,
  signal: AbortSignal,
): Promise<Omit<SavedDisk, 'target'>> {
  await chown(path, process.geteuid?.() ?? 0, process.getegid?.() ?? 0); // QEMU's user could make it writable again
  const checked = Promise.all([
    digests.protect(path),
    virtualBytesOf(path),
    stat(path),
    checkImage(path, signal),
    flush(path), // a ready image survives a power cut
  ]);
  const [sha256, virtualBytes, { blocks }] = await withStepError(checked, failure, `The image ${path} is damaged`);
  if (sha256 === null) throw new MayflyError(failure, `${path} is not a file.`);
  return { sha256, virtualBytes, storedBytes: blocks * 512 };
}
