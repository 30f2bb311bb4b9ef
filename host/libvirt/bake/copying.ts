import { constants, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMayflyError } from '../../../model/errors.ts';
import type { BakedImage } from '../../../model/snapshots/baked-source.ts';
import type { SavedDisk } from '../../../model/snapshots/snapshot.ts';
import type { BakedFolder } from '../../disk/baked-folder.ts';
import type { BaseDigests } from '../../disk/base-digest.ts';
import { freezeImage } from '../../disk/frozen-image.ts';
import { orAbsent, orNull } from '../../os/absent.ts';
import { flush } from '../../os/atomic-file.ts';
import { exec } from '../../os/exec.ts';
import type { StepContext } from '../../step-context.ts';
import type { Element } from '../client/xml.ts';
import { bootFiles } from '../domain-xml/baked-xml.ts';
import { planDisks } from '../domain-xml/clone-disks.ts';
import { parseDomain } from '../domain-xml/clone-xml.ts';
import { layeredDisks } from '../layers/disk-layers.ts';

/** What `bakedXml` puts the root disk under; further ones get the target into their name. */
export const ROOT_DISK = 'disk.qcow2';
/** A copy is stopped by its step's time, not by a time of its own. Milliseconds. */
export const COPY_MS = 3_600_000;
/** Beside images that were copied of another source: the machine that they are of. */
const COPIED_OF = 'copied-of.xml';

/**
 * The source may have been started since, so each image must hold what was made then. The machine that they are of is
 * written down last. @returns null when they are not that
 */
export async function copyImages(
  { folder: { path: own }, image, xml }: { folder: BakedFolder; image: BakedImage; xml: string },
  staging: string,
  { digests, context }: { digests: BaseDigests; context: StepContext },
): Promise<BakedImage | null> {
  const { signal } = context;
  const domain = parseDomain(xml);
  const plans = planDisks(domain, join(staging, ROOT_DISK));
  const disks: SavedDisk[] = [];
  for (const { target, layers } of layeredDisks(domain)) {
    const plan = plans.find((one) => one.target === target);
    if (!plan) continue;
    const [{ path }, ...below] = layers;
    const made = image.disks.find((disk) => disk.target === target);
    if (!made || dirname(path) !== own || below.length > 0) return null;
    context.alive(`copying ${target}`);
    await rm(plan.overlay, { force: true });
    await exec('cp', ['--reflink=auto', '--', path, plan.overlay], { signal, timeoutMs: COPY_MS });
    const copied = await freezeImage(plan.overlay, digests, 'bake_failed', signal);
    if (copied.sha256 !== made.sha256) return null;
    disks.push({ target, ...copied });
  }
  if (disks.length !== image.disks.length) return null;
  for (const { name, path } of bootFiles(domain)) await copyWhole(path, join(staging, name));
  await writeFile(join(staging, COPIED_OF), xml, { mode: 0o600 });
  return { disks, sizeBytes: disks.reduce((sum, { storedBytes }) => sum + storedBytes, 0) };
}

/** Of the images in a folder; null: they were not copied of another source. */
export async function machineCopied(folder: string): Promise<Element | null> {
  const xml = await orAbsent(readFile(join(folder, COPIED_OF), 'utf8'));
  return xml === null ? null : parseDomain(xml);
}

/** Of another attempt, that was given up. */
export async function forgetMachine(folder: string): Promise<void> {
  await rm(join(folder, COPIED_OF), { force: true });
}

/** What is found of a source; null where there is none. */
export function orNoSource<T>(found: Promise<T>): Promise<T | null> {
  return orNull(found, (error) => isMayflyError(error, 'source_not_found'));
}

export async function copyWhole(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await flush(to);
}
