import { MayflyError } from '../../../model/errors.ts';
import { child, type Element, ensureChild, removeChildren, setText, textOf } from '../client/xml.ts';

/**
 * Bytes in libvirt's memory units (https://libvirt.org/formatdomain.html#memory-allocation); names are case-sensitive
 * there, not here.
 */
const UNITS: Record<string, number> = {
  b: 1,
  bytes: 1,
  kb: 1e3,
  k: 1024,
  kib: 1024,
  mb: 1e6,
  m: 1024 ** 2,
  mib: 1024 ** 2,
  gb: 1e9,
  g: 1024 ** 3,
  gib: 1024 ** 3,
  tb: 1e12,
  t: 1024 ** 4,
  tib: 1024 ** 4,
};

/** Parses an element like `<memory unit='MiB'>512</memory>` to KiB. */
export function memoryKib(node: Element | undefined): number {
  const unit = UNITS[(node?.attributes['unit'] ?? 'KiB').toLowerCase()];
  const value = Number(textOf(node));
  if (unit === undefined || !Number.isFinite(value) || value <= 0) {
    throw new MayflyError('source_unsafe', `The source's memory cannot be read: ${JSON.stringify(textOf(node))}.`);
  }
  return Math.ceil((value * unit) / 1024);
}

export function cpuCount(domain: Element): number {
  const count = Number(textOf(child(domain, 'vcpu')) || '1');
  if (!Number.isInteger(count) || count < 1) {
    throw new MayflyError('source_unsafe', `The source's vcpu count cannot be read: ${JSON.stringify(count)}.`);
  }
  return count;
}

/** Gives the clone `cpus` virtual CPUs (null keeps the source's) and removes the source's CPU pinning. */
export function setCpus(domain: Element, cpus: number | null): void {
  const vcpu = ensureChild(domain, 'vcpu');
  delete vcpu.attributes['cpuset'];
  removeChildren(domain, ['cputune', 'numatune']);
  const before = cpuCount(domain);
  if (cpus === null || cpus === before) return;
  setText(vcpu, String(cpus));
  delete vcpu.attributes['current'];
  removeChildren(domain, ['vcpus']);
  // topology and NUMA cells name every CPU: libvirt refuses a different sum
  const cpu = child(domain, 'cpu');
  if (cpu) removeChildren(cpu, ['topology', 'numa']);
}

/** Gives the clone `mib` MiB of memory (null keeps the source's), always in KiB. */
export function setMemory(domain: Element, mib: number | null): void {
  const kib = mib === null ? null : mib * 1024;
  if (kib === null || kib === memoryKib(child(domain, 'memory'))) return;
  for (const name of ['memory', 'currentMemory']) {
    const node = name === 'memory' ? ensureChild(domain, name) : child(domain, name);
    if (!node) continue;
    node.attributes = { ...node.attributes, unit: 'KiB' };
    setText(node, String(kib));
  }
  // sized for the source's memory: slots to grow into, limits, NUMA cells, plugged modules
  removeChildren(domain, ['maxMemory', 'memtune']);
  const cpu = child(domain, 'cpu');
  if (cpu) removeChildren(cpu, ['numa']);
  const devices = child(domain, 'devices');
  if (devices) removeChildren(devices, ['memory']);
}
