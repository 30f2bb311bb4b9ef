import { child, childElements, type Element, element, removeChildren } from '../client/xml.ts';

/**
 * Devices that belong to the host or the source's user (PCI and USB devices, shared folders and memory, redirected
 * devices, sound): a sandbox gets none of them.
 */
const HOSTS_OWN = [
  'hostdev',
  'filesystem',
  'shmem',
  'redirdev',
  'redirfilter',
  'smartcard',
  'lease',
  'sound',
  'audio',
  'pstore',
];

/** Removes devices of the host and the source from the clone, and opens nothing to the outside. */
export function closeDevices(devices: Element): void {
  removeChildren(devices, HOSTS_OWN);
  removeChildren(devices, (d) => d.name === 'tpm' && child(d, 'backend')?.attributes['type'] !== 'emulator');
  removeChildren(devices, (d) => d.name === 'input' && ['passthrough', 'evdev'].includes(d.attributes['type'] ?? ''));
  removeChildren(devices, (d) => d.name === 'rng' && child(d, 'backend')?.attributes['model'] === 'egd');
  removeChildren(
    devices,
    (d) => d.name === 'memory' && ['nvdimm', 'virtio-pmem'].includes(d.attributes['model'] ?? ''),
  );
  closeGraphics(devices);
  for (const node of childElements(devices)) {
    if (['serial', 'console', 'parallel'].includes(node.name)) closeSerial(node);
    if (node.name === 'channel') closeChannel(node);
    if (node.name === 'vsock') Object.assign(node, { children: [element('cid', { auto: 'yes' })] });
  }
}

/** Makes displays listen nowhere: no port to collide, no password to leak, access only through libvirt. */
function closeGraphics(devices: Element): void {
  const displays = ['vnc', 'spice'];
  removeChildren(devices, (d) => d.name === 'graphics' && !displays.includes(d.attributes['type'] ?? ''));
  for (const node of childElements(devices, 'graphics')) {
    const type = node.attributes['type'] ?? 'vnc';
    Object.assign(node, element('graphics', { type }, element('listen', { type: 'none' })));
  }
  const spice = childElements(devices, 'graphics').some((d) => d.attributes['type'] === 'spice');
  const needsSpice = ['spicevmc', 'spiceport'];
  removeChildren(devices, (d) => d.name === 'channel' && !spice && needsSpice.includes(d.attributes['type'] ?? ''));
}

/** Replaces the source's file, socket or device by a port of its own. */
function closeSerial(node: Element): void {
  node.attributes = { type: 'pty' };
  removeChildren(node, ['source', 'protocol', 'log', 'address', 'alias']);
}

/** Replaces the socket by one whose path libvirt derives from the clone's name. */
function closeChannel(node: Element): void {
  const type = node.attributes['type'] ?? 'unix';
  node.attributes = { type: ['unix', 'spicevmc', 'spiceport', 'pty', 'qemu-vdagent'].includes(type) ? type : 'unix' };
  if (type === 'spiceport' || type === 'qemu-vdagent') return;
  removeChildren(node, ['source', 'protocol', 'log', 'alias']);
}
