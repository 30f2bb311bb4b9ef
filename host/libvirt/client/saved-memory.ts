import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { orAbsent } from '../../os/absent.ts';
import { isThere } from '../../os/directory.ts';

/** Of a saved machine besides its memory: the state of its devices, and what describes it. Bytes. */
const DEVICES_BYTES = 64 * 1024 * 1024;

/** Where libvirt saves memory: beside its dnsmasq folder, below its own. */
export function savedMemoryFolder(leaseFolder: string): string {
  return join(dirname(leaseFolder), 'qemu', 'save');
}

/** The files to which libvirt saves the memory of hibernated sandboxes: `<name>.save`, as `virsh managedsave` names them. */
export class SavedMemory {
  /** @param folder libvirt's own, `/var/lib/libvirt/qemu/save` */
  constructor(readonly folder: string) {}

  /** The file of one sandbox, whether it is there or not. @throws RangeError of what is no sandbox id */
  of(sandboxId: string): string {
    if (!isSandboxId(sandboxId)) throw new RangeError(`not a sandbox id: ${JSON.stringify(sandboxId)}`);
    return join(this.folder, `${sandboxId}.save`);
  }

  /** Whether something was saved of one; it need not be whole. */
  isThere = (sandboxId: string) => isThere(this.of(sandboxId));

  /**
   * As {@link isThere}, for a proof: where the folder itself is not seen, nothing can be said of what is in it.
   * @throws MayflyError host_unavailable
   */
  async look(sandboxId: string): Promise<boolean> {
    if (await this.isThere(sandboxId)) return true;
    await this.refuseUnseen();
    return false;
  }

  /** libvirt makes its folder when it starts. @throws MayflyError host_unavailable where it is not seen */
  async refuseUnseen(): Promise<void> {
    if (await isThere(this.folder)) return;
    throw new MayflyError(
      'host_unavailable',
      `Saved memory cannot be looked for: the host worker does not see libvirt's folder ${this.folder}. In a container it needs that folder mounted.`,
    );
  }

  /** Bytes it takes on the host; 0 when it is not there. */
  async allocatedBytes(sandboxId: string): Promise<number> {
    return ((await orAbsent(stat(this.of(sandboxId))))?.blocks ?? 0) * 512;
  }

  /** The sandboxes that have one, also half a one. */
  async sandboxIds(): Promise<string[]> {
    const names = (await orAbsent(readdir(this.folder))) ?? [];
    return names
      .filter((name) => name.endsWith('.save'))
      .map((name) => basename(name, '.save'))
      .filter(isSandboxId);
  }

  /** libvirt removes it with the domain; this is for one whose domain is gone. */
  async remove(sandboxId: string): Promise<void> {
    await this.refuseUnseen();
    await rm(this.of(sandboxId), { force: true });
  }

  /** @throws MayflyError hibernate_failed when there is no room for so much memory */
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
