import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import { orAbsent } from '../../os/absent.ts';
import { flush } from '../../os/atomic-file.ts';
import { readJson, writeJson } from '../../os/json-file.ts';
import { removeTree } from '../disk/tree.ts';
import { domainPaths, readClone } from './workspace.ts';

/** Restore that made the present disk. */
const RestoredFile = z.strictObject({ restoreId: z.string() });

interface Replacement {
  isOff: () => Promise<boolean>;
  /** Makes the new tree at an unused path. */
  copy: (to: string) => Promise<void>;
  /** Called when the new disk is complete and the old one still in place. */
  onStaged: () => Promise<void>;
}

/**
 * Replaces a disk. The old one stays unchanged until the new one is complete. Repeating a restore is a no-op; an
 * interrupted one restarts. @throws MayflyError restore_failed: no workspace, or its domain runs
 */
export async function replaceDisk(
  workspace: string,
  restoreId: string,
  { isOff, copy, onStaged }: Replacement,
): Promise<void> {
  const { root } = domainPaths(workspace);
  const marker = join(workspace, 'restored.json');
  const [staging, old] = [`${root}.new`, `${root}.old`];
  if ((await readJson(marker, RestoredFile))?.restoreId === restoreId) return removeTree(old);
  if (!(await readClone(workspace))) throw new MayflyError('restore_failed', `There is no sandbox in ${workspace}.`);
  if (!(await isOff())) throw new MayflyError('restore_failed', 'It runs: its disk cannot be replaced.');

  await removeTree(staging);
  try {
    await copy(staging);
    await onStaged();
  } catch (error) {
    await removeTree(staging);
    throw error;
  }
  await removeTree(old);
  // An earlier attempt may have been cut off right after this rename.
  await orAbsent(rename(root, old));
  await rename(staging, root);
  await flush(workspace);
  await writeJson(marker, { restoreId });
  await removeTree(old);
}
