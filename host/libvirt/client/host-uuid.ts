import { readFile } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import { orAbsent } from '../../os/absent.ts';
import type { Virsh } from './virsh.ts';
import { child, parseXml } from './xml.ts';

/** Kernel's file of the firmware's UUID, which is libvirt's default. */
const FIRMWARE_UUID = '/sys/class/dmi/id/product_uuid';

/**
 * @returns `mayChange`: true when it is not the firmware's, so libvirt may have generated it for its own run
 * (libvirtd.conf, `host_uuid`) @throws MayflyError host_unavailable
 */
export async function hostUuidOf(virsh: Virsh): Promise<{ hostUuid: string; mayChange: boolean }> {
  const capabilities = parseXml(await virsh.run(['capabilities']));
  const host = child(capabilities, 'host');
  const text = (host && child(host, 'uuid'))?.children.find((one) => typeof one === 'string');
  const hostUuid = typeof text === 'string' ? text.trim().toLowerCase() : '';
  if (hostUuid === '')
    throw new MayflyError('host_unavailable', 'libvirt does not say which machine this is: no host UUID.');
  const firmware = (await orAbsent(readFile(FIRMWARE_UUID, 'utf8')))?.trim().toLowerCase();
  return { hostUuid, mayChange: firmware !== hostUuid };
}
