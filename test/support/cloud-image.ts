import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Virsh } from '../../host/libvirt/client/virsh.ts';
import type { StateDir } from '../../host/state-dir.ts';
import { buildOnce } from '../../scripts/setup/cache.mjs';
import { run } from '../../scripts/setup/run.mjs';
import { cacheDir } from '../../worker/config/artifacts.mjs';

const RECIPE = fileURLToPath(new URL('cloud-image.sh', import.meta.url));
/** Machine id set by the recipe. */
export const BAKED_MACHINE_ID = '0123456789abcdef0123456789abcdef';

/** Timeout of a hanging build, ms. */
export const CLOUD_IMAGE_MS = 1_100_000;

const FILES = ['disk.qcow2', 'vmlinuz', 'initrd'] as const;

/** Builds the cloud image once: a minute and 500 MB of cache. @returns folder of disk.qcow2, vmlinuz and initrd */
export async function ensureCloudImage(): Promise<string> {
  const digest = createHash('sha256')
    .update(await readFile(RECIPE))
    .digest('hex')
    .slice(0, 16);
  const target = join(cacheDir(), 'images', 'cloud-debian12', digest);
  const signal = AbortSignal.timeout(CLOUD_IMAGE_MS);
  const note = (text: string) => process.stderr.write(`cloud image: ${text}\n`);
  const build = async (folder: string) => {
    // a kill ends every process and mount in its root
    const alone = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
    note('building it; about a minute');
    await run([...outside(), ...alone, RECIPE, folder], { signal });
  };
  await buildOnce({ target, proof: 'disk.qcow2', signal, note, build });
  return target;
}

/**
 * Returns a prefix that leaves the test's network namespace, which cannot reach a package archive, for its creator's.
 */
export function outside(): string[] {
  const [, owner] = /^mayfly-test-[a-z]+-(\d+)$/.exec(process.env['MAYFLY_TEST_NETNS'] ?? '') ?? [];
  return owner === undefined ? [] : ['nsenter', `--net=/proc/${owner}/ns/net`, '--'];
}

/** Defines a source as an operator with a downloaded image would. */
export async function defineCloudSource(virsh: Virsh, state: StateDir, image: string): Promise<string> {
  const folder = join(state.images, 'cloud-debian12'); // QEMU's user cannot read the cache
  await mkdir(folder, { mode: 0o711 });
  for (const file of FILES) await copyFile(join(image, file), join(folder, file));
  await virsh.define('define', domainXml(folder));
  return 'cloud-debian12';
}

function domainXml(folder: string): string {
  return `<domain type='qemu'>
  <name>cloud-debian12</name>
  <memory unit='MiB'>1024</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>${folder}/vmlinuz</kernel>
    <initrd>${folder}/initrd</initrd>
    <cmdline>root=/dev/vda1 ro console=tty0 console=ttyS0,115200</cmdline>
  </os>
  <features><acpi/><apic/></features>
  <cpu mode='maximum'/>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='unsafe' discard='unmap'/>
      <source file='${folder}/disk.qcow2'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <disk type='file' device='cdrom'><target dev='sda' bus='sata'/><readonly/></disk>
    <interface type='network'><source network='default'/><model type='virtio'/></interface>
    <serial type='pty'/>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
  </devices>
</domain>`;
}
