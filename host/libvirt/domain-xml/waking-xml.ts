import { buildXml, child, childElements, type Element, parseXml } from '../client/xml.ts';

/** Elements of a disk for its content and speed limit; others (address, bus) are hardware the guest has seen. */
const CONTENT = ['driver', 'source', 'backingStore', 'iotune'];

/**
 * Returns the hardware that the `saved` memory has seen, to the last address, with the name, disks and networks of
 * `own`.
 * @throws TypeError when the two differ in disks or interfaces
 */
export function wakingXml(saved: string, own: Element): string {
  const domain = parseXml(saved);
  for (const name of ['name', 'uuid', 'metadata', 'sysinfo', 'cputune']) copyElement(domain, own, name);
  const [os, ownOs] = [child(domain, 'os'), child(own, 'os')];
  if (os && ownOs) copyElement(os, ownOs, 'nvram');
  domain.children = domain.children.filter((c) => typeof c === 'string' || c.name !== 'seclabel');
  const [devices, ownDevices] = [child(domain, 'devices'), child(own, 'devices')];
  if (!devices || !ownDevices) throw new TypeError('a domain without devices');
  const disks = byTarget(ownDevices);
  const present = byTarget(devices);
  if ([...present.keys()].sort().join() !== [...disks.keys()].sort().join()) {
    throw new TypeError(`saved with the disks ${[...present.keys()].join()}, not ${[...disks.keys()].join()}`);
  }
  for (const [target, disk] of present) takeContent(disk, disks.get(target) ?? disk);
  takeInterfaces(devices, ownDevices);
  for (const channel of childElements(devices, 'channel')) {
    // a path of its own, which libvirt derives from the name
    channel.children = channel.children.filter((c) => typeof c === 'string' || c.name !== 'source');
  }
  return buildXml(domain);
}

export function macAddresses(domain: Element): string[] {
  const devices = child(domain, 'devices');
  if (!devices) return [];
  return childElements(devices, 'interface').map((nic) => child(nic, 'mac')?.attributes['address'] ?? '');
}

function copyElement(domain: Element, own: Element, name: string): void {
  const [theirs] = childElements(own, name);
  const at = domain.children.findIndex((c) => typeof c !== 'string' && c.name === name);
  if (at >= 0) domain.children.splice(at, 1, ...(theirs ? [theirs] : []));
  else if (theirs) domain.children.unshift(theirs);
}

function byTarget(devices: Element): Map<string, Element> {
  return new Map(childElements(devices, 'disk').map((disk) => [child(disk, 'target')?.attributes['dev'] ?? '', disk]));
}

function takeContent(disk: Element, own: Element): void {
  disk.attributes = { ...disk.attributes, type: own.attributes['type'] ?? 'file' };
  const others = disk.children.filter((c) => typeof c === 'string' || !CONTENT.includes(c.name));
  disk.children = [...childElements(own).filter((c) => CONTENT.includes(c.name)), ...others];
}

function takeInterfaces(devices: Element, ownDevices: Element): void {
  const [saved, own] = [childElements(devices, 'interface'), childElements(ownDevices, 'interface')];
  if (saved.length !== own.length) throw new TypeError(`saved with ${saved.length} interfaces, not ${own.length}`);
  for (const [nth, nic] of saved.entries()) {
    const theirs = own[nth];
    if (!theirs) continue;
    nic.attributes = theirs.attributes;
    for (const name of ['mac', 'source', 'port', 'target']) copyElement(nic, theirs, name);
  }
}
