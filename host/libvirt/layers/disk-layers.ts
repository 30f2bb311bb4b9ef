import { MayflyError } from '../../../model/errors.ts';
import { child, childElements, type Element, element, ensureChild, removeChildren } from '../client/xml.ts';
import { backingStore, type Layer } from '../domain-xml/clone-disks.ts';

export interface LayeredDisk {
  target: string;
  /** False for a disk that its source declares read-only: it is never written, so it has nothing to save. */
  writable: boolean;
  /** Active layer first. */
  layers: [Layer, ...Layer[]];
}

/** Returns the disks in a domain's XML as Mayfly writes it, with the full chain of each; CDs are left out. */
export function layeredDisks(domain: Element): LayeredDisk[] {
  return disksOf(domain).map((disk) => {
    const target = targetOf(disk);
    const path = child(disk, 'source')?.attributes['file'];
    if (path === undefined) throw unreadable(target);
    const format = child(disk, 'driver')?.attributes['type'] ?? 'raw';
    return {
      target,
      writable: child(disk, 'readonly') === undefined,
      layers: [{ path, format }, ...layersBelow(disk)],
    };
  });
}

/** Returns the targets of all the drives of a domain, CDs among them. */
export function driveTargets(domain: Element): string[] {
  return drivesOf(domain).map(targetOf);
}

/** Returns libvirt's index of a running domain's active layer, or null. */
export function sourceIndex(domain: Element, target: string): string | null {
  const disk = disksOf(domain).find((d) => targetOf(d) === target);
  return (disk && child(disk, 'source')?.attributes['index']) ?? null;
}

export function putLayers(domain: Element, target: string, [active, ...below]: LayeredDisk['layers']): void {
  const disk = disksOf(domain).find((d) => targetOf(d) === target);
  if (!disk) throw unreadable(target);
  const driver = ensureChild(disk, 'driver');
  driver.attributes = { ...driver.attributes, name: 'qemu', type: active.format };
  Object.assign(ensureChild(disk, 'source'), element('source', { file: active.path }));
  removeChildren(disk, ['backingStore']);
  const backing = backingStore(below);
  if (backing) disk.children.push(backing);
}

function layersBelow(node: Element): Layer[] {
  const backing = child(node, 'backingStore');
  const path = backing && child(backing, 'source')?.attributes['file'];
  if (!backing || path === undefined) return [];
  return [{ path, format: child(backing, 'format')?.attributes['type'] ?? 'raw' }, ...layersBelow(backing)];
}

function drivesOf(domain: Element): Element[] {
  const devices = child(domain, 'devices');
  return devices ? childElements(devices, 'disk') : [];
}

function disksOf(domain: Element): Element[] {
  return drivesOf(domain).filter((drive) => (drive.attributes['device'] ?? 'disk') === 'disk');
}

function targetOf(drive: Element): string {
  return child(drive, 'target')?.attributes['dev'] ?? '';
}

function unreadable(target: string): MayflyError {
  return new MayflyError('internal', `The disk ${JSON.stringify(target)} is not in the domain as it was written.`);
}
