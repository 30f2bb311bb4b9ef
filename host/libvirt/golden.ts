import { constants, copyFile, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import { domainUuid } from '../../model/ids.ts';
import { orAbsent } from '../disk/absent.ts';
import { BaseDigests } from '../disk/base-digest.ts';
import type { StateDir } from '../state-dir.ts';
import type { Virsh } from './client/virsh.ts';
import { buildXml, element } from './client/xml.ts';

/** A built image as its image.json describes it; images/README.md has the contract. */
interface ImageDescription {
  name: string;
  /** SHA-256 of disk.qcow2, hex. */
  digest: string;
  kernelCommandLine: string;
}

const FILES = ['disk.qcow2', 'vmlinux', 'initrd', 'image.json'];
/** What a clone gets unless it asks for more. */
const MEMORY_MIB = 512;

/**
 * Registers a built image as a source: its files are copied (shared blocks where the file system can) to a folder
 * named by the disk's digest, which never changes again, and the domain is defined anew on every call. Clones of an
 * earlier image keep theirs.
 * @param image folder with the files of images/README.md
 * @returns the source's name
 * @throws MayflyError source_changed when the copied disk is not the described one
 */
export async function registerGolden(virsh: Virsh, state: StateDir, image: string): Promise<string> {
  const description = await describe(image);
  const folder = join(state.images, description.digest);
  if ((await orAbsent(stat(folder))) === null) await copyImage(image, folder);
  const disk = join(folder, 'disk.qcow2');
  // known from now on, so that the first clone need not wait for it
  if ((await new BaseDigests(state.images).protect(disk)) !== description.digest) {
    throw new MayflyError('source_changed', `${disk} is not what ${image} describes: remove the folder it lies in.`);
  }
  await virsh.define('define', goldenXml(description, folder));
  return description.name;
}

async function describe(image: string): Promise<ImageDescription> {
  const content: unknown = JSON.parse(await readFile(join(image, 'image.json'), 'utf8'));
  const fields: Partial<Record<string, unknown>> =
    typeof content === 'object' && content !== null ? { ...content } : {};
  const { name, digest, kernelCommandLine } = fields;
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(typeof digest === 'string' ? digest : '') ?? [];
  if (typeof name !== 'string' || typeof kernelCommandLine !== 'string' || hex === undefined) {
    throw new TypeError(
      `${image}/image.json lacks name, digest or kernelCommandLine: build the image again (npm run setup)`,
    );
  }
  return { name, digest: hex, kernelCommandLine };
}

async function copyImage(image: string, folder: string): Promise<void> {
  const fresh = `${folder}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o711 });
  for (const file of FILES) await copyFile(join(image, file), join(fresh, file), constants.COPYFILE_FICLONE);
  await rename(fresh, folder);
}

/** Booted directly; virtio only, since its initrd knows nothing else; a virtio-scsi controller for the seed's CD. */
function goldenXml({ name, kernelCommandLine }: ImageDescription, folder: string): string {
  const rng = element('rng', { model: 'virtio' }, element('backend', { model: 'random' }, '/dev/urandom'));
  const agent = element('target', { type: 'virtio', name: 'org.qemu.guest_agent.0' });
  const disk = element(
    'disk',
    { type: 'file', device: 'disk' },
    // a disposable disk need not outlive a crash of the host, so no flush of the guest's has to wait
    element('driver', { name: 'qemu', type: 'qcow2', cache: 'unsafe', discard: 'unmap' }),
    element('source', { file: join(folder, 'disk.qcow2') }),
    element('target', { dev: 'vda', bus: 'virtio' }),
  );
  return buildXml(
    element(
      'domain',
      { type: 'qemu' },
      element('name', {}, name),
      element('uuid', {}, domainUuid(name)),
      element('memory', { unit: 'MiB' }, String(MEMORY_MIB)),
      element('vcpu', {}, '1'),
      element(
        'os',
        {},
        element('type', { arch: 'x86_64', machine: 'q35' }, 'hvm'),
        element('kernel', {}, join(folder, 'vmlinux')),
        element('initrd', {}, join(folder, 'initrd')),
        element('cmdline', {}, kernelCommandLine),
      ),
      element('features', {}, element('acpi')),
      element('cpu', { mode: 'maximum' }),
      element('clock', { offset: 'utc' }),
      element('on_poweroff', {}, 'destroy'),
      element('on_reboot', {}, 'restart'),
      element('on_crash', {}, 'destroy'),
      element(
        'devices',
        {},
        disk,
        element('controller', { type: 'usb', model: 'none' }),
        element('controller', { type: 'scsi', index: '0', model: 'virtio-scsi' }),
        element('serial', { type: 'pty' }),
        element('channel', { type: 'unix' }, agent),
        rng,
        element('memballoon', { model: 'none' }),
      ),
    ),
  );
}
