import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureDisk } from '../../host/disk/host-disk.ts';
import { exec } from '../../host/os/exec.ts';

/** File system for a host that a test can fill. Its mount ends with the test run's mount namespace. */
export class SmallDisk {
  private constructor(
    private readonly place: string,
    readonly folder: string,
  ) {}

  static async make(mib: number): Promise<SmallDisk> {
    const place = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'small-'));
    const [image, folder] = [join(place, 'image'), join(place, 'disk')];
    await mkdir(folder);
    await writeFile(image, '');
    await truncate(image, mib * 1_048_576);
    await exec('mkfs.ext4', ['-q', '-m', '0', image]);
    await exec('mount', ['-o', 'loop', image, folder]);
    await exec('chmod', ['711', place, folder]); // QEMU runs as another user
    return new SmallDisk(place, folder);
  }

  /** Fills it until this many bytes are left, by allocation without writing. */
  async leave(bytes: number): Promise<void> {
    await this.clear();
    const { availableBytes } = await measureDisk(this.folder);
    await exec('fallocate', ['--length', String(availableBytes - bytes), '--', this.#ballast]);
  }

  async clear(): Promise<void> {
    await rm(this.#ballast, { force: true });
  }

  async remove(): Promise<void> {
    await exec('umount', ['--lazy', this.folder]);
    await rm(this.place, { recursive: true });
  }

  get #ballast(): string {
    return join(this.folder, 'ballast');
  }
}
