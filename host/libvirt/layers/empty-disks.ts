import { rm } from 'node:fs/promises';
import { virtualBytesOf } from '../../disk/image.ts';
import { ensureOverlay } from '../../disk/overlay.ts';
import { layeredDisks } from './disk-layers.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import type { Workspace } from './workspace.ts';

/**
 * Replaces layers on top of a snapshot by empty ones: memory woken a second time expects the file systems of the save.
 * @throws MayflyError boot_failed
 */
export async function emptyDisks(workspace: Workspace, snapshot: SnapshotFolder, signal: AbortSignal): Promise<void> {
  for (const { target, writable, layers } of layeredDisks(await workspace.domain())) {
    const [active, frozen] = layers;
    if (!writable || frozen?.path !== snapshot.layerOf(target)) continue;
    await rm(active.path, { force: true });
    const bytes = await virtualBytesOf(frozen.path);
    await ensureOverlay(active.path, frozen.path, frozen.format, signal, 'boot_failed', bytes);
  }
}
