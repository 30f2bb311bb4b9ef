import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import type { BakedImage } from '../../model/snapshots/baked-source.ts';
import type { BakeRequest } from '../baking.ts';
import { orAbsent } from '../os/absent.ts';
import { flush } from '../os/atomic-file.ts';
import { entriesOf } from '../os/directory.ts';
import { readJson, writeJson } from '../os/json-file.ts';

const ABOUT = 'baked.json';
const Disk = z.strictObject({
  target: z.string(),
  sha256: z.string(),
  virtualBytes: z.number(),
  storedBytes: z.number(),
});
const Description = z.strictObject({
  bakeId: z.string(),
  sourceId: z.string(),
  snapshotId: z.string(),
  /** Checked images; null until they are complete. */
  image: z.strictObject({ disks: z.array(Disk), sizeBytes: z.number() }).nullable(),
});
type Description = z.infer<typeof Description>;

/** Folder mode that lets QEMU, which is another user, reach the images. */
const SEARCHABLE = 0o711;

/**
 * Folder of one baked source's images, first under a temporary name, then under its own, and during removal under a
 * third. Each step is one rename, so no partial content ever has the source's name.
 */
export class BakedFolder {
  readonly path: string;
  readonly staging: string;
  readonly #gone: string;

  /** @param parent folder of all baked sources @param name as `isBakedSourceName` allows it */
  constructor(
    readonly parent: string,
    readonly name: string,
  ) {
    this.path = join(parent, name);
    this.staging = join(parent, `.${name}.new`);
    this.#gone = join(parent, `.${name}.gone`);
  }

  /** Returns Mayfly's description of the source; null when the name is free or belongs to something else. */
  async about(): Promise<Description | null> {
    return readAbout(this.path);
  }

  async isOf(bakeId: string): Promise<boolean> {
    return (await this.about())?.bakeId === bakeId;
  }

  /** Returns the images of that bake, under either name; null until they are complete. */
  async imageOf({ bakeId }: BakeRequest): Promise<BakedImage | null> {
    for (const about of [await this.about(), await readAbout(this.staging)]) {
      if (about?.bakeId === bakeId && about.image) return about.image;
    }
    return null;
  }

  /** Returns the images baked here of that snapshot, or null. */
  async madeOf(snapshotId: string): Promise<BakedImage | null> {
    const about = await this.about();
    return about?.snapshotId === snapshotId ? about.image : null;
  }

  /** Makes the temporary folder, replacing that of another bake. @throws MayflyError source_exists */
  async stage({ bakeId, sourceId, snapshotId }: BakeRequest): Promise<void> {
    await mkdir(this.parent, { recursive: true, mode: SEARCHABLE });
    await this.sweep();
    if (await this.isOf(bakeId)) return;
    await this.#assertNameFree();
    if ((await readAbout(this.staging))?.bakeId === bakeId) return;
    await rm(this.staging, { recursive: true, force: true });
    await mkdir(this.staging, { mode: SEARCHABLE });
    await this.#write({ bakeId, sourceId, snapshotId, image: null });
  }

  /**
   * Fills the temporary folder unless it is filled; a `make` that returns null leaves it empty.
   * @throws MayflyError bake_failed when the folder is not that bake's
   */
  async fill<Made extends BakedImage | null>(
    request: BakeRequest,
    make: (folder: string) => Promise<Made>,
  ): Promise<BakedImage | Made> {
    const made = await this.imageOf(request);
    if (made) return made;
    const about = await readAbout(this.staging);
    if (about?.bakeId !== request.bakeId) {
      throw new MayflyError('bake_failed', `${this.staging} is not there any more.`);
    }
    const image = await make(this.staging);
    if (image !== null) await this.#write({ ...about, image });
    return image;
  }

  /** @throws MayflyError source_exists; bake_failed when the folder was not filled */
  async publish({ bakeId }: BakeRequest): Promise<void> {
    if (await this.isOf(bakeId)) return;
    await this.#assertNameFree();
    const about = await readAbout(this.staging);
    if (about?.bakeId !== bakeId || !about.image) {
      throw new MayflyError('bake_failed', `${this.staging} does not hold the images of this bake.`);
    }
    await rename(this.staging, this.path);
    await flush(this.parent);
  }

  /** Removes the staging folder of that source. @param bakeId `@default` any bake of it */
  async discard({ sourceId, bakeId }: { sourceId: string; bakeId?: string }): Promise<void> {
    const about = await readAbout(this.staging);
    if (about !== null && (about.sourceId !== sourceId || about.bakeId !== (bakeId ?? about.bakeId))) return;
    await rm(this.staging, { recursive: true, force: true });
  }

  /** True when the source is present. @throws MayflyError source_not_baked when something else has its name */
  async isThere(sourceId: string): Promise<boolean> {
    if (!(await entriesOf(this.parent))?.includes(this.name)) return false;
    if ((await this.about())?.sourceId === sourceId) return true;
    throw new MayflyError('source_not_baked', `${this.path} is not of this Mayfly's making, and stays.`);
  }

  /** Frees the name at once, then deletes the content. */
  async drop(): Promise<void> {
    await this.sweep();
    if (await orAbsent(rename(this.path, this.#gone).then(() => true))) await flush(this.parent);
    await this.sweep();
  }

  /** Removes the remains of a {@link drop} that a crash interrupted. */
  async sweep(): Promise<void> {
    await rm(this.#gone, { recursive: true, force: true });
  }

  async #assertNameFree(): Promise<void> {
    if (!(await entriesOf(this.parent))?.includes(this.name)) return;
    throw new MayflyError('source_exists', `This host has images named ${JSON.stringify(this.name)}.`);
  }

  async #write(about: Description): Promise<void> {
    await writeJson(join(this.staging, ABOUT), about);
  }
}

function readAbout(folder: string): Promise<Description | null> {
  return readJson(join(folder, ABOUT), Description);
}
