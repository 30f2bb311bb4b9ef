import { rename, unlink } from 'node:fs/promises';
import { MayflyError } from '../../model/errors.ts';
import { orAbsent } from '../os/absent.ts';
import { isThere } from '../os/directory.ts';
import { ExecError, exec } from '../os/exec.ts';

/**
 * Makes a qcow2 overlay over `base`, unless it exists: it gets its name only when complete, so an existing one is
 * whole, and may have been written to.
 * @param format of the base, as its domain declares it
 * @param bytes virtual size, where known: then the base and what lies below it are not opened
 * @param failure error code. `@default` clone_failed
 * @throws MayflyError `failure`
 */
export async function ensureOverlay(
  overlay: string,
  base: string,
  format: string,
  signal?: AbortSignal,
  failure: 'clone_failed' | 'snapshot_failed' | 'restore_failed' | 'boot_failed' = 'clone_failed',
  bytes?: number,
): Promise<void> {
  if (await isThere(overlay)) return;
  const fresh = `${overlay}.new`;
  const known = bytes === undefined ? { flags: [], size: [] } : { flags: ['-u'], size: [String(bytes)] };
  const args = ['create', '-q', '-f', 'qcow2', '-F', format, '-b', base, ...known.flags, '--', fresh, ...known.size];
  try {
    await exec('qemu-img', args, signal ? { signal } : {});
    await rename(fresh, overlay);
  } catch (error) {
    signal?.throwIfAborted();
    await orAbsent(unlink(fresh));
    if (!(error instanceof ExecError)) throw error;
    throw new MayflyError(failure, `No overlay could be made over ${base}: ${error.stderr.trim()}`, {
      cause: error,
    });
  }
}
