import { writeFile } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import { poll } from '../../os/poll.ts';
import type { QemuMonitor } from '../client/qemu-monitor.ts';
import type { Virsh } from '../client/virsh.ts';
import { parseXml } from '../client/xml.ts';
import { sourceIndex } from './disk-layers.ts';
import { removeReverted, revertedMark, type SwitchedDisk } from './switched-disks.ts';

/** Timeout of a commit: little was written since the switch, but the disk may be slow. Milliseconds. */
const COMMIT_TIMEOUT_MS = 100_000;
const LOOK_EVERY_MS = 20;

/**
 * Reverts changes of QEMU that libvirt does not know, since libvirtd was killed in between: new layers that it has
 * opened, and a disk switched to one. libvirt would keep its known disks, and QEMU refuse each later snapshot and each
 * copy. Data written to the new layer is committed to the layer that libvirt knows, while the machine runs.
 */
export class OrphanedSwitches {
  constructor(
    private readonly virsh: Virsh,
    private readonly monitor: QemuMonitor,
  ) {}

  /**
   * Resolves when QEMU has closed these layers, and their files are removed. Repeatable from any point.
   * @throws MayflyError host_unavailable when QEMU does not do it
   */
  async takeBack(sandboxId: string, switched: readonly SwitchedDisk[]): Promise<void> {
    for (const { target, overlay } of switched) {
      const node = await this.monitor.driveNode(sandboxId, overlay);
      if (node !== null) await this.#commit(sandboxId, target, node, revertedMark(overlay));
      for (const { name, file } of await this.monitor.nodes(sandboxId)) {
        if (file === overlay) await this.monitor.execute(sandboxId, 'blockdev-del', { 'node-name': name });
      }
      await removeReverted(overlay);
    }
  }

  /** Commits an active layer with QEMU's block-commit: it copies until nothing is left, and is then completed. */
  async #commit(sandboxId: string, target: string, node: string, mark: string): Promise<void> {
    const job = `mayfly-${target}`;
    if ((await this.monitor.jobIsReady(sandboxId, job)) === null) {
      const known = await this.#knownNode(sandboxId, target);
      await this.monitor.execute(sandboxId, 'block-commit', { 'job-id': job, device: node, 'base-node': known });
    }
    let isCompleting = false;
    const look = async () => {
      const isReady = await this.monitor.jobIsReady(sandboxId, job);
      if (isReady === null) return true;
      if (!isReady || isCompleting) return null;
      await writeFile(mark, ''); // or a layer with old content would be taken for an empty one after a crash
      await this.monitor.execute(sandboxId, 'block-job-complete', { device: job });
      isCompleting = true;
      return null;
    };
    if (await poll(look, { everyMs: LOOK_EVERY_MS, withinMs: COMMIT_TIMEOUT_MS })) return;
    throw new MayflyError('host_unavailable', `QEMU does not end the copy of ${target} of ${sandboxId}.`);
  }

  /** Returns the node that libvirt considers the disk's active one: it is named after the source's index. */
  async #knownNode(sandboxId: string, target: string): Promise<string> {
    const index = sourceIndex(parseXml(await this.virsh.run(['dumpxml', sandboxId])), target);
    if (index === null) {
      throw new MayflyError('host_unavailable', `libvirt does not say what ${target} of ${sandboxId} is written to.`);
    }
    return `libvirt-${index}-format`;
  }
}
