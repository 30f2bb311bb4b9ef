import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Mutex } from 'async-mutex';
import { z } from 'zod';
import { orAbsent } from '../os/absent.ts';
import { readJson, writeJson } from '../os/json-file.ts';

const CachedDigest = z.strictObject({
  /** Device, inode, size, modification and change time in ns: while these stay, so does the content. */
  stamp: z.string(),
  sha256: z.string(),
});
type CachedDigest = z.infer<typeof CachedDigest>;
const Table = z.record(z.string(), CachedDigest);

interface Protection {
  mode?: number;
  signal?: AbortSignal;
}

/** File mode of a base: readable by QEMU alone, read-only since clones depend on it. */
const READ_ONLY = 0o440;

/**
 * Cache of the digests of source disks. Hashing a disk takes seconds to minutes, so a digest is stored with the file's
 * stamp and computed again only when the stamp has changed.
 */
export class BaseDigests {
  /** Guards the table; held only while it is read or written. */
  readonly #mutex = new Mutex();
  /** Locks of the disks that are being hashed, by path. */
  readonly #hashing = new Map<string, Mutex>();
  readonly #file: string;

  /** @param folder of the table digests.json; its group is that of QEMU, which reads the disks */
  constructor(folder: string) {
    this.#file = join(folder, 'digests.json');
  }

  /**
   * Makes a disk read-only for its owner and QEMU. @returns its SHA-256 in hex; null for a block device, which has no
   * stamp. An ENOENT passes through. @param options.mode `@default` QEMU may read it
   */
  async protect(disk: string, { mode = READ_ONLY, signal }: Protection = {}): Promise<string | null> {
    return await this.#withDiskLock(disk, async () => {
      const before = await stat(disk);
      if (!before.isFile()) return null;
      const found = (await this.#mutex.runExclusive(() => this.#load())).get(disk);
      const isKnown = found?.stamp === (await stampOf(disk));
      const { gid } = (await orAbsent(stat(dirname(this.#file)))) ?? before;
      if (before.gid !== gid) await chown(disk, before.uid, gid);
      if ((before.mode & 0o777) !== mode) await chmod(disk, mode);
      const stamp = await stampOf(disk);
      if (found?.stamp === stamp) return found.sha256;
      if (found && isKnown && withoutChange(stamp) === withoutChange(found.stamp)) {
        await this.#cache(disk, { ...found, stamp }); // only the owner has changed, not the content
        return found.sha256;
      }
      const sha256 = await sha256Of(disk, signal);
      await this.#cache(disk, { stamp, sha256 });
      return sha256;
    });
  }

  /** Returns the SHA-256 in hex of a file, leaving its mode and owner. An ENOENT passes through. */
  async of(file: string): Promise<string> {
    return await this.#withDiskLock(file, async () => {
      const known = await this.remembered(file);
      if (known !== null) return known;
      const stamp = await stampOf(file);
      const sha256 = await sha256Of(file);
      await this.#cache(file, { stamp, sha256 });
      return sha256;
    });
  }

  /** Returns the cached digest; null when there is none or the disk was touched since. Changes nothing. */
  async remembered(disk: string): Promise<string | null> {
    const found = (await this.#load()).get(disk);
    return found && found.stamp === (await stampOf(disk)) ? found.sha256 : null;
  }

  /** Moves a digest to the file's new name, provided that it is the file that was hashed. */
  async moved(from: string, to: string): Promise<void> {
    await this.#withDiskLock(from, () =>
      this.#mutex.runExclusive(async () => {
        const known = await this.#load();
        const found = known.get(from);
        if (!found) return;
        const stamp = await stampOf(to);
        known.delete(from);
        // a rename changes the last part, the ctime
        if (withoutChange(stamp) === withoutChange(found.stamp)) known.set(to, { ...found, stamp });
        await this.#save(known);
      }),
    );
  }

  async forget(folder: string): Promise<void> {
    await this.#mutex.runExclusive(async () => {
      const known = await this.#load();
      const left = [...known].filter(([disk]) => dirname(disk) !== folder);
      if (left.length < known.size) await this.#save(left);
    });
  }

  /** Stores a digest, unless the disk was changed or removed since: then it may have been forgotten already. */
  async #cache(disk: string, digest: CachedDigest): Promise<void> {
    await this.#mutex.runExclusive(async () => {
      if ((await orAbsent(stampOf(disk))) !== digest.stamp) return;
      await this.#save((await this.#load()).set(disk, digest));
    });
  }

  /** Serializes the users of one disk, so that no disk is hashed twice at a time. */
  async #withDiskLock<T>(disk: string, use: () => Promise<T>): Promise<T> {
    const mutex = this.#hashing.get(disk) ?? new Mutex();
    this.#hashing.set(disk, mutex);
    try {
      return await mutex.runExclusive(use);
    } finally {
      if (!mutex.isLocked()) this.#hashing.delete(disk);
    }
  }

  async #save(entries: Iterable<[string, CachedDigest]>): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o711 });
    await writeJson(this.#file, Object.fromEntries(entries));
  }

  async #load(): Promise<Map<string, CachedDigest>> {
    return new Map(Object.entries((await readJson(this.#file, Table)) ?? {}));
  }
}

/** Returns the stamp of a file, which changes with its content; see {@link CachedDigest}. */
export async function stampOf(disk: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(disk, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function withoutChange(stamp: string): string {
  return stamp.slice(0, stamp.lastIndexOf(' '));
}

/** Returns the SHA-256 of a file's content, hex. @param start first byte. `@default` 0 @throws the signal's reason */
export async function sha256Of(disk: string, signal?: AbortSignal, start = 0): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(disk, { start, highWaterMark: 4 * 1024 * 1024 }), hash, {
    ...(signal && { signal }),
  });
  return hash.digest('hex');
}
