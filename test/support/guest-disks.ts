import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { ComparedSnapshots } from '../../activities/playbook/differences.ts';
import { toDiffError } from '../../host/diff/diff-failure.ts';
import { FileSystemDiff } from '../../host/diff/file-system-diff.ts';
import { toGuestName, toGuestNameBytes } from '../../model/files/guest-name.ts';
import { diffBinary, goldenImage } from '../../worker/config/artifacts.mjs';

const run = promisify(execFile);

/** Mounts a disk in a private namespace, and runs a program in it, without network. $1: disk, $2: folder. */
const INSIDE = `set -e
disk=$1 root=$2; shift 2
mount -o loop "$disk" "$root"
for each in run tmp; do mount -t tmpfs tmpfs "$root/$each"; done
mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
code=0; chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@" || code=$?
umount -lR "$root/dev"; umount -R "$root"; exit "$code"`;

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Disks of guests that never boot: changed through chroot. Needs root, and loop devices. */
export class GuestDisks implements AsyncDisposable {
  readonly #diff: FileSystemDiff;

  private constructor(private readonly folder: string) {
    const program = diffBinary();
    if (program === null) throw new Error('mayfly-diff is not built: npm run setup');
    this.#diff = new FileSystemDiff(program);
  }

  /** Creates the disks. @param within parent folder; includes a disk `golden`, the golden image's */
  static async make(within: string): Promise<GuestDisks> {
    const golden = goldenImage();
    if (!golden) throw new Error('there is no golden image: npm run setup');
    const disks = new GuestDisks(await mkdtemp(join(within, 'disks-')));
    await mkdir(join(disks.folder, 'root'));
    await run('qemu-img', ['convert', '-O', 'raw', golden.disk, disks.#pathOf('golden')]);
    return disks;
  }

  async copy(from: string, to: string): Promise<void> {
    await run('cp', ['--sparse=always', '--reflink=auto', this.#pathOf(from), this.#pathOf(to)]);
  }

  async run(disk: string, argv: readonly string[], stdin: Readable | Uint8Array = new Uint8Array()): Promise<Ended> {
    const alone = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--', 'sh', '-c', INSIDE, 'inside'];
    const child = spawn('unshare', [...alone, this.#pathOf(disk), join(this.folder, 'root'), ...argv]);
    const ended = once(child, 'close');
    const said = Promise.all([text(child.stdout), text(child.stderr)]);
    await pipeline(stdin instanceof Readable ? stdin : Readable.from([stdin]), child.stdin);
    const [[code], [stdout, stderr]] = await Promise.all([ended, said]);
    return { code: Number(code), stdout, stderr };
  }

  /** Disks in the form of snapshots, compared by name. */
  get snapshots(): ComparedSnapshots {
    const diskOf = (name: string) => ({ layers: [{ path: this.#pathOf(name), format: 'raw' }] });
    const diff = this.#diff;
    return {
      async *compare({ before, after, within }, signal) {
        const options = { within: within.map(toGuestNameBytes), signal };
        for await (const line of diff.changes(diskOf(before), diskOf(after), options)) {
          if (line.line !== 'start') yield line;
        }
      },
      async readFile({ snapshotId, path, maxBytes }, signal) {
        try {
          return await diff.content(diskOf(snapshotId), toGuestNameBytes(path), maxBytes, { signal });
        } catch (error) {
          throw toDiffError(error, { before: snapshotId, after: snapshotId });
        }
      },
      async namesIn({ snapshotId, path }, signal) {
        try {
          return (await diff.names(diskOf(snapshotId), toGuestNameBytes(path), { signal })).map(toGuestName);
        } catch (error) {
          throw toDiffError(error, { before: snapshotId, after: snapshotId });
        }
      },
      changesAsTar: ({ before, after, within }, signal) => {
        const options = { within: within.map(toGuestNameBytes), signal };
        return Readable.from(diff.tar(diskOf(before), diskOf(after), options), { objectMode: false });
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true });
  }

  #pathOf(name: string): string {
    return join(this.folder, `${name}.raw`);
  }
}
