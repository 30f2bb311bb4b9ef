import { child, childElements, type Element, element, removeChildren } from '../client/xml.ts';

/**
 * Attaches the seed as the only CD, on virtio-scsi: Debian's cloud kernel has no AHCI (`# CONFIG_SATA_AHCI is not
 * set`). The source's own CDs go: they are installers and seeds of other machines.
 */
export function attachSeed(devices: Element, seed: string): void {
  const isCd = (d: Element) => d.name === 'disk' && d.attributes['device'] === 'cdrom';
  const first = devices.children.findIndex((d) => typeof d !== 'string' && isCd(d));
  const taken = childElements(devices, 'disk')
    .filter((d) => !isCd(d))
    .map((d) => child(d, 'target')?.attributes['dev']);
  const target = Array.from({ length: 26 }, (_, i) => `sd${String.fromCharCode(97 + i)}`).find(
    (n) => !taken.includes(n),
  );
  const cd = element(
    'disk',
    { type: 'file', device: 'cdrom' },
    element('driver', { name: 'qemu', type: 'raw' }),
    element('source', { file: seed }),
    element('target', { dev: target ?? 'sdaa', bus: 'scsi' }),
    element('readonly'),
  );
  if (first >= 0) devices.children[first] = cd;
  removeChildren(devices, (d) => isCd(d) && d !== cd);
  if (first < 0) devices.children.push(cd);
  ensureVirtioScsi(devices, cd);
}

/** Adds a virtio-scsi controller if needed, and addresses the CD to it: the default is controller 0. */
function ensureVirtioScsi(devices: Element, cd: Element): void {
  const scsi = childElements(devices, 'controller').filter((c) => c.attributes['type'] === 'scsi');
  const found = scsi.find((c) => c.attributes['model']?.startsWith('virtio'));
  const indexes = scsi.map((c) => Number(c.attributes['index'] ?? '0'));
  const index = found ? Number(found.attributes['index'] ?? '0') : Math.max(-1, ...indexes) + 1;
  if (!found) {
    devices.children.push(element('controller', { type: 'scsi', index: String(index), model: 'virtio-scsi' }));
  }
  if (index === 0) return;
  const unit = { type: 'drive', controller: String(index), bus: '0', target: '0', unit: '7' };
  cd.children.push(element('address', unit));
}
