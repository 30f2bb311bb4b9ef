import { MayflyError } from '../../../model/errors.ts';
import type { Virsh } from './virsh.ts';
import { child, childElements, parseXml, textOf } from './xml.ts';

/**
 * Returns the group of this libvirt's QEMUs: it reads the disks of guests, and other users of the machine do not.
 * @throws MayflyError host_unavailable where libvirt does not report it
 */
export async function qemuGroup(virsh: Virsh): Promise<number> {
  const host = child(parseXml(await virsh.run(['capabilities'])), 'host');
  const models = host ? childElements(host, 'secmodel') : [];
  const labels = models.filter((model) => textOf(child(model, 'model')) === 'dac');
  // `+<uid>:+<gid>` (virSecurityDACPreFork and virCapabilities of libvirt: "+%u:+%u")
  const [, gid] = labels.map((model) => /^\+\d+:\+(\d+)$/.exec(textOf(child(model, 'baselabel')))).find(Boolean) ?? [];
  if (gid !== undefined) return Number(gid);
  const why = 'libvirt does not say which user QEMU runs as';
  throw new MayflyError(
    'host_unavailable',
    `${why}: its security driver \`dac\` is off, which keeps guests' disks to QEMU.`,
  );
}
