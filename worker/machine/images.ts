import { statfs } from 'node:fs/promises';
import { clearScratch, Virsh } from '../../host/libvirt/client/virsh.ts';
import { copyGolden, defineGolden, findGoldenBuild, isCopied } from '../../host/libvirt/golden.ts';
import { makeSearchable } from '../../host/os/directory.ts';
import { StateDir } from '../../host/state-dir.ts';
import { MayflyError } from '../../model/errors.ts';
import { formatSize } from '../../model/snapshots/storage.ts';
import { type GoldenImage, goldenImage, type ImageName, imageNames } from '../config/artifacts.mjs';
import type { Config } from '../config/config.ts';
import { runningLibvirt } from './hypervisor.ts';

/** Golden image, and its state as a source of this host. */
export interface ImageState {
  name: ImageName;
  /** Null: not built of the present sources. */
  image: GoldenImage | null;
  /**
   * `registered`: of this build; `earlier`: of another build; `foreign`: a domain that no image made has its name;
   * `at-start`: as soon as the host worker starts; `simulated`: this host cannot have it.
   */
  source: 'registered' | 'earlier' | 'foreign' | 'at-start' | 'simulated' | 'none';
}

/** Space for kernel, initrd and description, with a reserve, bytes. */
const EXTRA_BYTES = 128 * 1024 * 1024;

/**
 * Lists the images of this machine. Starts and changes nothing.
 * @throws MayflyError host_unavailable when a libvirtd that should answer does not
 */
export async function imageStates(config: Config): Promise<ImageState[]> {
  const state = new StateDir(config.stateDir);
  const uri = config.hostKind === 'simulated' ? null : await runningLibvirt(config, state);
  return Promise.all(
    imageNames.map(async (name) => {
      const image = goldenImage(name);
      if (config.hostKind === 'simulated') return { name, image, source: 'simulated' };
      const isAtStart = image !== null && (name === imageNames[0] || (await isCopied(state, image.dir)));
      const digest = uri === null ? null : await findGoldenBuild(new Virsh(uri), state, name);
      return { name, image, source: sourceOf(image, digest) ?? (isAtStart ? 'at-start' : 'none') };
    }),
  );
}

function sourceOf(image: GoldenImage | null, digest: string | null): 'registered' | 'earlier' | 'foreign' | null {
  if (digest === null || digest === 'foreign') return digest;
  return image?.digest === `sha256:${digest}` ? 'registered' : 'earlier';
}

/**
 * Makes a built image a source of this host, with or without a running worker, like an operator who defines a domain.
 * Idempotent and safe to interrupt; one process at a time.
 * @param copying is called when files must be copied, which takes seconds
 * @returns true when it is a source now; false: as soon as the host worker starts
 */
export async function registerImage(
  config: Config,
  image: GoldenImage,
  { signal, copying }: { signal: AbortSignal; copying: (folder: string) => void },
): Promise<boolean> {
  const state = new StateDir(config.stateDir);
  await makeSearchable(state.images); // a host worker closes it to all but QEMU
  if (!(await isCopied(state, image.dir))) {
    await assertDiskSpace(state, image);
    copying(state.images);
    await copyGolden(state, image.dir, signal);
  }
  const uri = await runningLibvirt(config, state);
  if (uri === null) return false;
  await clearScratch(state.scratch);
  await defineGolden(new Virsh(uri, state.scratch), state, image.dir);
  return true;
}

/** @throws MayflyError host_disk_full */
async function assertDiskSpace({ images }: StateDir, { name, diskBytes }: GoldenImage): Promise<void> {
  const { bavail, bsize } = await statfs(images);
  const needed = diskBytes + EXTRA_BYTES;
  if (bavail * bsize >= needed) return;
  const free = `${formatSize(bavail * bsize)} are free in ${images}`;
  throw new MayflyError('host_disk_full', `${free}, and ${name} takes ${formatSize(needed)} there.`);
}
