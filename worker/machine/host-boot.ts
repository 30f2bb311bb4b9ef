import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent } from '../../host/os/absent.ts';
import { writeFileAtomic } from '../../host/os/atomic-file.ts';
import type { StateDir } from '../../host/state-dir.ts';

/** Random UUID that the kernel makes at each boot (proc(5), `/proc/sys/kernel/random/boot_id`). */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Last boot of the machine that its host worker has handled. */
export class HostBoot {
  private constructor(
    private readonly file: string,
    private readonly bootId: string,
    /** True when the machine has restarted, until {@link settle}. */
    public isNew: boolean,
  ) {}

  /** @param bootIdFile `@default` the kernel's */
  static async read(state: StateDir, bootIdFile = BOOT_ID): Promise<HostBoot> {
    const file = join(state.root, 'boot-id');
    const bootId = (await readFile(bootIdFile, 'utf8')).trim();
    const known = (await orAbsent(readFile(file, 'utf8')))?.trim() ?? null;
    const boot = new HostBoot(file, bootId, known !== null && known !== bootId);
    if (known === null) await boot.settle();
    return boot;
  }

  /**
   * Records this boot as handled: all machine ends caused by the restart are reported, and later ones have another
   * reason.
   */
  async settle(): Promise<void> {
    await writeFileAtomic(this.file, `${this.bootId}\n`, 0o600);
    this.isNew = false;
  }
}
