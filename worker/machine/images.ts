import { statfs } from 'node:fs/promises';
import { clearScratch, Virsh } from '../../host/libvirt/client/virsh.ts';
import { defineGolden, isPlaced, placeGolden, registeredGolden } from '../../host/libvirt/golden.ts';
import { makeSearchable } from '../../host/os/directory.ts';
import { StateDir } from '../../host/state-dir.ts';
import { MayflyError } from '../../model/errors.ts';
import { sizeText } from '../../model/snapshots/storage.ts';
import { type GoldenImage, goldenImage, type ImageName, imageNames } from '../config/artifacts.mjs';
import type { Config } from '../config/config.ts';
import { runningLibvirt } from './hypervisor.ts';

/** A golden image, and whether it is a source of this host. */
export interface ImageState {
  name: ImageName;
  /** Null: not built of the present sources. */
  image: GoldenImage | null;
  /**
   * `registered`: of this build; `earlier`: of another; `foreign`: a domain that was not made of an image has its name;
   * `at-start`: as soon as the host worker starts; `simulated`: it cannot be one on this host.
   */
  source: 'registered' | 'earlier' | 'foreign' | 'at-start' | 'simulated' | 'none';
}

/** Kernel, initrd and description, with room to spare. Bytes. */
const BESIDE_DISK = 128 * 1024 * 1024;

/**
 * The images of this machine. Nothing is started or changed.
 * @throws MayflyError host_unavailable when a libvirtd that should answer does not
 */
export async function imageStates(config: Config): Promise<ImageState[]> {
  const state = new StateDir(config.stateDir);
  const uri = config.hostKind === 'simulated' ? null : await runningLibvirt(config, state);
  return Promise.all(
    imageNames.map(async (name) => {
      const image = goldenImage(name);
      if (config.hostKind === 'simulated') return { name, image, source: 'simulated' };
      const isAtStart = image !== null && (name === imageNames[0] || (await isPlaced(state, image.dir)));
      const digest = uri === null ? null : await registeredGolden(new Virsh(uri), state, name);
      return { name, image, source: sourceOf(image, digest) ?? (isAtStart ? 'at-start' : 'none') };
    }),
  );
}

function sourceOf(image: GoldenImage | null, digest: string | null): 'registered' | 'earlier' | 'foreign' | null {
  if (digest === null || digest === 'foreign') return digest;
  return image?.digest === `sha256:${digest}` ? 'registered' : 'earlier';
}

/**
 * Makes a built image a source of this host, whether or not its worker runs: as an operator would who defines a domain.
 * Safe to repeat, safe to interrupt; one process at a time.
 * @param copying is called when files have to be copied, which takes seconds
 * @returns whether it is one now; else as soon as the host worker starts
 * @throws MayflyError host_disk_full, source_exists, source_changed
 */
export async function offerImage(
  config: Config,
  image: GoldenImage,
  { signal, copying }: { signal: AbortSignal; copying: (folder: string) => void },
): Promise<boolean> {
  const state = new StateDir(config.stateDir);
  await makeSearchable(state.images); // a host worker closes it to all but QEMU
  if (!(await isPlaced(state, image.dir))) {
    await refuseFull(state, image);
    copying(state.images);
    await placeGolden(state, image.dir, signal);
  }
  const uri = await runningLibvirt(config, state);
  if (uri === null) return false;
  await clearScratch(state.scratch);
  await defineGolden(new Virsh(uri, state.scratch), state, image.dir);
  return true;
}

/** @throws MayflyError host_disk_full */
async function refuseFull({ images }: StateDir, { name, diskBytes }: GoldenImage): Promise<void> {
  const { bavail, bsize } = await statfs(images);
  const needed = diskBytes + BESIDE_DISK;
  if (bavail * bsize >= needed) return;
  const free = `${sizeText(bavail * bsize)} are free in ${images}`;
  throw new MayflyError('host_disk_full', `${free}, and ${name} takes ${sizeText(needed)} there.`);
}
