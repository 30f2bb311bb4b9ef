import { MayflyError } from '../../../model/errors.ts';
import type { Capacity } from '../../../model/host.ts';
import { measureDisk } from '../../disk/host-disk.ts';
import { nodeInfo, nodeMemory } from '../output/node.ts';
import type { Virsh } from './virsh.ts';

/** @param folder on the file system that holds the sandboxes @throws MayflyError host_unavailable */
export async function measureCapacity(virsh: Virsh, folder: string): Promise<Capacity> {
  const [said, disk] = await Promise.all([virsh.run(['nodeinfo; nodememstats']), measureDisk(folder)]); // one process for both
  const [node, { memoryTotalMib, memoryAvailableMib }] = [nodeInfo(said), nodeMemory(said)];
  if (node.cpus === null || memoryTotalMib === null || memoryAvailableMib === null) {
    throw new MayflyError('host_unavailable', 'libvirt did not say how many CPUs and how much memory the host has.');
  }
  const { totalBytes: diskTotalBytes, availableBytes: diskAvailableBytes } = disk;
  return { cpus: node.cpus, memoryTotalMib, memoryAvailableMib, diskTotalBytes, diskAvailableBytes };
}
