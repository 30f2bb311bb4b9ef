import { constants, copyFile, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import { BaseDigests, sha256Of } from '../disk/base-digest.ts';
import { orAbsent } from '../os/absent.ts';
import { flush } from '../os/atomic-file.ts';
import { isThere, makeSearchable } from '../os/directory.ts';
import type { StateDir } from '../state-dir.ts';
import { nullIfMissing, type Virsh } from './client/virsh.ts';
import { child, parseXml } from './client/xml.ts';
import { goldenXml } from './domain-xml/golden-xml.ts';

/** Description of a built image from its image.json; images/README.md has the contract. */
interface ImageDescription {
  name: string;
  /** SHA-256 of disk.qcow2, hex. */
  digest: string;
  kernelCommandLine: string;
}

const FILES = ['disk.qcow2', 'vmlinux', 'initrd', 'image.json'];

/**
 * Registers a built image as a source: its files are copied (shared blocks where the file system can) to an immutable
 * folder named by the disk's digest, and the domain is redefined on every call. Clones of an earlier image keep theirs.
 * Only for the host worker: it writes the table of digests.
 * @param image folder with the files of images/README.md
 * @returns the source's name
 * @throws MayflyError source_changed when the copied disk is not the described one
 */
export async function registerGolden(virsh: Virsh, state: StateDir, image: string): Promise<string> {
  const description = await describe(image);
  const folder = folderOf(state, description);
  if (!(await isThere(folder))) await copyImage(image, folder, async () => {});
  const disk = join(folder, 'disk.qcow2');
  // cached now, so that the first clone need not wait for it
  if ((await new BaseDigests(state.images).protect(disk)) !== description.digest) throw sourceChanged(disk, image);
  await virsh.define('define', goldenXml(description, folder));
  return description.name;
}

export async function isCopied(state: StateDir, image: string): Promise<boolean> {
  return (await orAbsent(stat(folderOf(state, await describe(image))))) !== null;
}

/**
 * Copies an image atomically and verified, even beside a running host worker. One process at a time. @param image
 * folder with the files of images/README.md @throws MayflyError source_changed when the copy does not match the
 * description
 */
export async function copyGolden(state: StateDir, image: string, signal: AbortSignal): Promise<void> {
  const description = await describe(image);
  const folder = folderOf(state, description);
  if (await isThere(folder)) return;
  await copyImage(image, folder, async (file) => {
    signal.throwIfAborted();
    if (basename(file) === 'disk.qcow2' && (await sha256Of(file)) !== description.digest)
      throw sourceChanged(file, image);
    await flush(file);
  });
  await flush(dirname(folder));
}

/**
 * Defines the source of an image whose files were copied; from then on a host worker lists it.
 * @throws MayflyError source_exists when another domain has that name
 */
export async function defineGolden(virsh: Virsh, state: StateDir, image: string): Promise<void> {
  const description = await describe(image);
  const { name } = description;
  if ((await findGoldenBuild(virsh, state, name)) === 'foreign') {
    throw new MayflyError(
      'source_exists',
      `The domain ${name} was not made of an image in ${state.images}: it stays as it is.`,
    );
  }
  await virsh.define('define', goldenXml(description, folderOf(state, description)));
}

/** Returns the SHA-256 of the image disk behind a source; `foreign` for another disk, null without a domain. */
export async function findGoldenBuild(virsh: Virsh, state: StateDir, name: string): Promise<string | null> {
  const xml = await nullIfMissing(virsh.run(['dumpxml', `--domain=${name}`]));
  if (xml === null) return null;
  const devices = child(parseXml(xml), 'devices');
  const disk = devices && child(devices, 'disk');
  const folder = dirname((disk && child(disk, 'source'))?.attributes['file'] ?? '');
  return dirname(folder) === state.images && /^[0-9a-f]{64}$/.test(basename(folder)) ? basename(folder) : 'foreign';
}

function folderOf(state: StateDir, { digest }: ImageDescription): string {
  return join(state.images, digest);
}

function sourceChanged(disk: string, image: string): MayflyError {
  return new MayflyError('source_changed', `${disk} is not what ${image} describes: remove the folder it lies in.`);
}

async function describe(image: string): Promise<ImageDescription> {
  const content: unknown = JSON.parse(await readFile(join(image, 'image.json'), 'utf8'));
  const fields: Partial<Record<string, unknown>> =
    typeof content === 'object' && content !== null ? { ...content } : {};
  const { name, digest, kernelCommandLine } = fields;
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(typeof digest === 'string' ? digest : '') ?? [];
  if (typeof name !== 'string' || typeof kernelCommandLine !== 'string' || hex === undefined) {
    throw new TypeError(`${image}/image.json lacks name, digest or kernelCommandLine: build the image again`);
  }
  return { name, digest: hex, kernelCommandLine };
}

async function copyImage(image: string, folder: string, check: (file: string) => Promise<void>): Promise<void> {
  const fresh = `${folder}.new`;
  await rm(fresh, { recursive: true, force: true });
  try {
    await makeSearchable(fresh);
    for (const file of FILES) {
      await copyFile(join(image, file), join(fresh, file), constants.COPYFILE_FICLONE);
      await check(join(fresh, file));
    }
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}
