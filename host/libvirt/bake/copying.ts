import { constants, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMayflyError } from '../../../model/errors.ts';
import type { BakedImage } from '../../../model/snapshots/baked-source.ts';
import type { SavedDisk } from '../../../model/snapshots/snapshot.ts';
import type { BakedFolder } from '../../disk/baked-folder.ts';
import type { BaseDigests } from '../../disk/base-digest.ts';
import { freezeImage } from '../../disk/frozen-image.ts';
import { nullIf, orAbsent } from '../../os/absent.ts';
import { flush } from '../../os/atomic-file.ts';
import { exec } from '../../os/exec.ts';
import type { StepContext } from '../../step-context.ts';
import type { Element } from '../client/xml.ts';
import { bootFiles } from '../domain-xml/baked-xml.ts';
import { planDisks } from '../domain-xml/clone-disks.ts';
import { parseDomain } from '../domain-xml/clone-xml.ts';
import { layeredDisks } from '../layers/disk-layers.ts';

/** Root disk for `bakedXml`; further disks get their target into their name. */
export const ROOT_DISK = 'disk.qcow2';
/** Limit of a copy, which its step's timeout ends earlier. Milliseconds. */
export const COPY_MS = 3_600_000;
/** Description of the copied machine, beside images copied from another source. */
const COPIED_OF = 'copied-of.xml';

/**
 * Copies a source's images and compares each with the first bake, since the source may have been started since. Writes
 * the machine's description last. @returns null when an image differs
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

/** Returns the machine of a folder's images; null when they were not copied from another source. */
export async function readCopiedMachine(folder: string): Promise<Element | null> {
  const xml = await orAbsent(readFile(join(folder, COPIED_OF), 'utf8'));
  return xml === null ? null : parseDomain(xml);
}

/** Removes the description left by an abandoned attempt. */
export async function removeCopiedMachine(folder: string): Promise<void> {
  await rm(join(folder, COPIED_OF), { force: true });
}

/** Returns null when the source does not exist. */
export function nullIfNoSource<T>(found: Promise<T>): Promise<T | null> {
  return nullIf(found, (error) => isMayflyError(error, 'source_not_found'));
}

export async function copyWhole(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await flush(to);
}
