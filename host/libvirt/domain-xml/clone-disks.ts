import { MayflyError } from '../../../model/errors.ts';
import type { ImageLayer } from '../../disk/image.ts';
import { child, childElements, type Element, element, removeChildren } from '../client/xml.ts';

/** Location of a source's disk: a path (file or block device), or a volume whose path libvirt knows. */
export type DiskBase = { path: string } | { pool: string; volume: string };

export type Layer = Pick<ImageLayer, 'path' | 'format'>;

export interface DiskPlan {
  /** Name of the disk inside the domain, e.g. `vda`. */
  target: string;
  base: DiskBase;
  /** Image format of the base as the source declares it; libvirt takes raw when it declares none. */
  format: string;
  /** Overlay (qcow2) that replaces the base in the clone. */
  overlay: string;
  root: boolean;
}

/**
 * Plans one overlay per disk, since a shared disk would be written by source and clone together; beside `rootOverlay`,
 * with the target in their name. @throws MayflyError source_unsafe when a disk can't be a base
 */
export function planDisks(domain: Element, rootOverlay: string): DiskPlan[] {
  const disks = clonedDisks(domain);
  const root = rootOf(disks);
  return disks.map((disk) => {
    const target = targetOf(disk);
    const overlay = disk === root ? rootOverlay : `${rootOverlay.replace(/\.qcow2$/, '')}-${target}.qcow2`;
    return {
      target,
      base: baseOf(disk),
      format: child(disk, 'driver')?.attributes['type'] ?? 'raw',
      overlay,
      root: disk === root,
    };
  });
}

/** Points every disk of the clone at its overlay and removes the source's own settings. */
export function replaceDisks(
  devices: Element,
  plans: readonly DiskPlan[],
  bases: ReadonlyMap<string, readonly Layer[]>,
): void {
  removeChildren(devices, (d) => isDisk(d) && !hasSource(d));
  removeChildren(devices, (d) => d.name === 'disk' && d.attributes['device'] === 'floppy');
  for (const disk of childElements(devices).filter(isDisk)) {
    const plan = plans.find((p) => p.target === targetOf(disk));
    if (!plan) continue;
    replaceDisk(disk, plan);
    const backing = backingStore(bases.get(plan.target) ?? []);
    if (backing) disk.children.push(backing);
  }
}

/** Returns libvirt's description of the chain below an overlay, with the label that leaves the files' owner alone. */
export function backingStore(layers: readonly Layer[]): Element | null {
  const [layer, ...below] = layers;
  if (!layer) return null;
  const kept = element('seclabel', { model: 'dac', relabel: 'no' });
  const source = element('source', { file: layer.path }, kept);
  const backing = element('backingStore', { type: 'file' }, element('format', { type: layer.format }), source);
  backing.children.push(backingStore(below) ?? element('backingStore'));
  return backing;
}

/** Driver settings: a write without space on the host suspends the guest; an error would look like a broken disk. */
const CLONES_OWN = { name: 'qemu', type: 'qcow2', error_policy: 'enospace' };
const SOURCES_OWN = ['backingStore', 'mirror', 'shareable', 'transient', 'address', 'auth', 'encryption', 'alias'];

function replaceDisk(disk: Element, plan: DiskPlan): void {
  const { sgio: _sgio, rawio: _rawio, ...kept } = disk.attributes;
  disk.attributes = { ...kept, type: 'file', device: 'disk' };
  // serial and wwn stay: a guest's fstab may name its disks by them
  removeChildren(disk, plan.root ? [...SOURCES_OWN, 'readonly'] : SOURCES_OWN);
  const driver = child(disk, 'driver');
  if (driver) driver.attributes = { ...driver.attributes, ...CLONES_OWN };
  else disk.children.unshift(element('driver', CLONES_OWN));
  const source = child(disk, 'source');
  if (source) Object.assign(source, element('source', { file: plan.overlay }));
}

/** Returns the name of the disk that a machine boots from. @throws MayflyError source_unsafe when it has none */
export function rootTarget(domain: Element): string {
  const root = rootOf(clonedDisks(domain));
  return root ? targetOf(root) : unsafe('it has no disk');
}

function clonedDisks(domain: Element): Element[] {
  const devices = child(domain, 'devices');
  const disks = (devices ? childElements(devices, 'disk') : []).filter((disk) => isDisk(disk) && hasSource(disk));
  if (disks.length === 0) unsafe('could not find a virtio disk in it, nor any other disk to clone');
  if (disks.every(isMisnamed)) {
    const named = disks.map(targetOf).join(', ');
    unsafe(`could not find a virtio disk in it: ${named} is named as one, but is on another bus`);
  }
  const targets = disks.map(targetOf);
  const twice = targets.find((target, i) => targets.indexOf(target) !== i);
  if (twice !== undefined) unsafe(`two of its disks are called ${JSON.stringify(twice)}`);
  return disks;
}

/** True when a disk named `vd…` (virtio) is on another bus: the guest names it differently, and mounts fail. */
function isMisnamed(disk: Element): boolean {
  const { dev = '', bus = 'virtio' } = child(disk, 'target')?.attributes ?? {};
  return dev.startsWith('vd') && bus !== 'virtio';
}

function isDisk(node: Element): boolean {
  return node.name === 'disk' && ['disk', 'lun'].includes(node.attributes['device'] ?? 'disk');
}

function hasSource(disk: Element): boolean {
  return Object.keys(child(disk, 'source')?.attributes ?? {}).length > 0;
}

/** Returns the target, checked since it becomes part of a file name. libvirt has no other form. */
function targetOf(disk: Element): string {
  const target = child(disk, 'target')?.attributes['dev'] ?? '';
  if (!/^[a-z][a-z0-9]{1,15}$/.test(target)) unsafe(`a disk's target name is ${JSON.stringify(target)}`);
  return target;
}

function rootOf(disks: readonly Element[]): Element | undefined {
  const order = (disk: Element) => Number(child(disk, 'boot')?.attributes['order'] ?? Number.POSITIVE_INFINITY);
  return disks.reduce<Element | undefined>((a, b) => (a && order(a) <= order(b) ? a : b), undefined);
}

function baseOf(disk: Element): DiskBase {
  const source = child(disk, 'source');
  const { file, dev, pool, volume } = source?.attributes ?? {};
  const encrypted = child(disk, 'encryption') ?? (source && child(source, 'encryption'));
  if (encrypted) unsafe(`its disk ${targetOf(disk)} is encrypted, so a clone would need the source's secret`);
  if (source && child(source, 'slices')) unsafe(`its disk ${targetOf(disk)} is a slice of a larger file`);
  const type = disk.attributes['type'] ?? 'file';
  if (type === 'file' && file) return { path: file };
  if (type === 'block' && dev) return { path: dev };
  if (type === 'volume' && pool && volume) return { pool, volume };
  return unsafe(
    `its disk ${targetOf(disk)} is of type ${JSON.stringify(type)}, and an overlay needs a local file or block device`,
  );
}

function unsafe(why: string): never {
  throw new MayflyError('source_unsafe', `The source cannot be cloned: ${why}.`);
}
