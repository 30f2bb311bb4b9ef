import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { orAbsent } from '../../os/absent.ts';
import { isThere } from '../../os/directory.ts';

/** Size of a saved machine besides its memory: device state and description. Bytes. */
const DEVICES_BYTES = 64 * 1024 * 1024;

/** Returns libvirt's folder of saved memory, `qemu/save` next to its dnsmasq folder. */
export function savedMemoryFolder(leaseFolder: string): string {
  return join(dirname(leaseFolder), 'qemu', 'save');
}

/** Files of hibernated sandboxes' memory: `<name>.save`, as `virsh managedsave` names them. */
export class SavedMemory {
  /** @param folder libvirt's own, `/var/lib/libvirt/qemu/save` */
  constructor(readonly folder: string) {}

  /** Returns the file of one sandbox, existing or not. @throws RangeError for another id */
  of(sandboxId: string): string {
    if (!isSandboxId(sandboxId)) throw new RangeError(`not a sandbox id: ${JSON.stringify(sandboxId)}`);
    return join(this.folder, `${sandboxId}.save`);
  }

  /** True when a file exists; it may be incomplete. */
  isThere = (sandboxId: string) => isThere(this.of(sandboxId));

  /**
   * Checks as {@link isThere}, for a proof: an invisible folder proves nothing about its content.
   * @throws MayflyError host_unavailable
   */
  async look(sandboxId: string): Promise<boolean> {
    if (await this.isThere(sandboxId)) return true;
    await this.refuseUnseen();
    return false;
  }

  /** Asserts that libvirt's folder, made when libvirt starts, is visible. @throws MayflyError host_unavailable */
  async refuseUnseen(): Promise<void> {
    if (await isThere(this.folder)) return;
    throw new MayflyError(
      'host_unavailable',
      `Saved memory cannot be looked for: the host worker does not see libvirt's folder ${this.folder}. In a container it needs that folder mounted.`,
    );
  }

  /** Returns the bytes allocated on the host; 0 without a file. */
  async allocatedBytes(sandboxId: string): Promise<number> {
    return ((await orAbsent(stat(this.of(sandboxId))))?.blocks ?? 0) * 512;
  }

  /** Returns the sandboxes with a file, complete or not. */
  async sandboxIds(): Promise<string[]> {
    const names = (await orAbsent(readdir(this.folder))) ?? [];
    return names
      .filter((name) => name.endsWith('.save'))
      .map((name) => basename(name, '.save'))
      .filter(isSandboxId);
  }

  /** Removes the file of a sandbox without a domain; libvirt removes others with the domain. */
  async remove(sandboxId: string): Promise<void> {
    await this.refuseUnseen();
    await rm(this.of(sandboxId), { force: true });
  }

  /** @throws MayflyError hibernate_failed without space for so much memory */
  async refuseWithoutRoom(sandboxId: string, memoryKib: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.folder);
    const needed = memoryKib * 1024 + DEVICES_BYTES;
    if (bavail * bsize >= needed) return;
    const mib = (bytes: number) => `${Math.floor(bytes / 1024 / 1024)} MiB`;
    throw new MayflyError(
      'hibernate_failed',
      `The memory of ${sandboxId} may need ${mib(needed)} in ${this.folder} of its host, which has ${mib(bavail * bsize)} left. Make room there, or pause it instead.`,
    );
  }
}
