import { rm } from 'node:fs/promises';
import { virtualBytesOf } from '../../disk/image.ts';
import { ensureOverlay } from '../../disk/overlay.ts';
import { isThere } from '../../os/directory.ts';
import type { Element } from '../client/xml.ts';
import { layeredDisks } from './disk-layers.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import type { Workspace } from './workspace.ts';

/** Disk that is switched from its present layer, then the snapshot's, to an empty one. */
export interface SwitchedDisk {
  target: string;
  frozen: string;
  overlay: string;
}

/** @param frozen the machine with the layers of the snapshot as its disks */
export function switchedDisksOf(frozen: Element, folder: SnapshotFolder, workspace: Workspace): SwitchedDisk[] {
  return layeredDisks(frozen)
    .filter(({ writable }) => writable)
    .map(({ target, layers: [layer] }) => ({
      target,
      frozen: layer.path,
      overlay: workspace.overlayOf(target, folder.snapshotId),
    }));
}

/** @param overlay that QEMU has closed */
export async function removeReverted(overlay: string): Promise<void> {
  await rm(overlay, { force: true });
  await rm(revertedMark(overlay), { force: true });
}

/** Returns the mark of a layer whose content was committed back. */
export function revertedMark(overlay: string): string {
  return `${overlay}.taken-back`;
}

/** Makes the overlays. An existing unmarked one is empty, and stays: a libvirtd may be about to open it. */
export async function makeOverlays(switched: readonly SwitchedDisk[], signal: AbortSignal): Promise<void> {
  await Promise.all(
    switched.map(async ({ overlay, frozen }) => {
      if (await isThere(revertedMark(overlay))) await removeReverted(overlay);
      const bytes = await virtualBytesOf(frozen);
      await ensureOverlay(overlay, frozen, 'qcow2', signal, 'snapshot_failed', bytes);
    }),
  );
}

/**
 * Returns the virsh command that switches all disks at one moment, with that moment's memory if a file is given.
 * @param targets of all drives of the domain: libvirt would also save the unnamed ones
 */
export function snapshotCommand(
  sandboxId: string,
  targets: readonly string[],
  switched: readonly SwitchedDisk[],
  { quiesce, memory }: { quiesce: boolean; memory: string | null },
): string[] {
  const what =
    memory === null ? ['--disk-only'] : ['--live', '--memspec', `file=${escapeCommas(memory)},snapshot=external`];
  const flags = ['--no-metadata', '--atomic', '--reuse-external', ...what, ...(quiesce ? ['--quiesce'] : [])];
  const disks = targets.flatMap((target) => {
    const move = switched.find((m) => m.target === target);
    return ['--diskspec', `${target},${move ? `file=${escapeCommas(move.overlay)}` : 'snapshot=no'}`];
  });
  return ['snapshot-create-as', sandboxId, ...flags, ...disks];
}

/** Doubles commas in a value (virsh(1)). */
function escapeCommas(path: string): string {
  return path.replaceAll(',', ',,');
}
