import { Readable } from 'node:stream';
import { MayflyError } from '../../../model/errors.ts';
import type { FileChangeRecord, GuestName } from '../../../model/files/file-change.ts';
import { toGuestName, toGuestNameBytes } from '../../../model/files/guest-name.ts';
import { type ComparedSnapshots, toDiffError } from '../../diff/diff-failure.ts';
import type { DiskImage } from '../../diff/diff-program.ts';
import { FileSystemDiff } from '../../diff/file-system-diff.ts';
import type { Comparison, SavedFileRequest, SavedPath } from '../../snapshots.ts';
import { rootTarget } from '../domain-xml/clone-disks.ts';
import { layeredDisks } from '../layers/disk-layers.ts';
import type { BaseSnapshot, References } from '../layers/references.ts';

/** Reads the file systems of snapshots on their frozen layers, which stay while they are read. */
export class SnapshotReader {
  /** @param program path of mayfly-diff; null where set-up has not built it */
  constructor(
    private readonly references: References,
    private readonly program: string | null,
  ) {}

  async *compare(comparison: Comparison, signal: AbortSignal): AsyncGenerator<FileChangeRecord> {
    const lines = this.#read(comparison, signal, (before, after) =>
      this.#diff().changes(before, after, { within: comparison.within.map(toGuestNameBytes), signal }),
    );
    for await (const line of lines) if (line.line !== 'start') yield line;
  }

  changesAsTar(comparison: Comparison, signal: AbortSignal): Readable {
    const archive = this.#read(comparison, signal, (before, after) =>
      this.#diff().tar(before, after, { within: comparison.within.map(toGuestNameBytes), signal }),
    );
    return Readable.from(archive, { objectMode: false });
  }

  readFile(
    { snapshotId, path, maxBytes }: SavedFileRequest,
    signal: AbortSignal,
  ): Promise<{ content: Buffer; size: number }> {
    return this.#of(snapshotId, signal, (diff, disk) =>
      diff.content(disk, toGuestNameBytes(path), maxBytes, { signal }),
    );
  }

  async namesIn({ snapshotId, path }: SavedPath, signal: AbortSignal): Promise<GuestName[]> {
    const names = await this.#of(snapshotId, signal, (diff, disk) =>
      diff.names(disk, toGuestNameBytes(path), { signal }),
    );
    return names.map(toGuestName);
  }

  async #of<T>(
    snapshotId: string,
    signal: AbortSignal,
    read: (diff: FileSystemDiff, disk: DiskImage) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.references.on(snapshotId, (foundation) => read(this.#diff(), rootDisk(foundation)));
    } catch (error) {
      signal.throwIfAborted();
      throw toDiffError(error, { before: snapshotId, after: snapshotId });
    } finally {
      await this.references.sweep(); // it may just have been deleted
    }
  }

  async *#read<T>(
    sides: ComparedSnapshots,
    signal: AbortSignal,
    make: (before: DiskImage, after: DiskImage) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const ids = [sides.before, sides.after] as const;
    try {
      yield* this.references.whileRead(ids, (foundations) => {
        const [before, after] = foundations.map(rootDisk);
        if (!before || !after) throw new TypeError('two snapshots have fewer than two disks');
        return make(before, after);
      });
    } catch (error) {
      signal.throwIfAborted();
      throw toDiffError(error, sides);
    }
  }

  #diff(): FileSystemDiff {
    if (this.program !== null) return new FileSystemDiff(this.program);
    throw new MayflyError(
      'diff_failed',
      'What compares file systems is not built on the host: run `npm run setup` there.',
    );
  }
}

function rootDisk({ snapshotId, domain }: BaseSnapshot): DiskImage {
  const target = rootTarget(domain);
  const disk = layeredDisks(domain).find((one) => one.target === target);
  if (!disk) throw new MayflyError('internal', `${snapshotId} has no disk ${JSON.stringify(target)}.`);
  return { layers: disk.layers };
}
