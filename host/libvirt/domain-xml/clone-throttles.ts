import { GUEST_LIMITS } from '../../../model/limits.ts';
import { child, childElements, type Element, element, removeChildren } from '../client/xml.ts';
import { cpuCount } from './clone-resources.ts';

/** Group of disks that QEMU counts together. The name marks limits as Mayfly's. */
const GROUP = 'mayfly';
/** Microseconds, as libvirt's default (https://libvirt.org/formatdomain.html#cpu-tuning). */
const PERIOD_US = 100_000;
/** Share of QEMU's own threads in each period. */
export const EMULATOR_QUOTA_US = GUEST_LIMITS.cpu.besideCpus * PERIOD_US;
/** Largest weight of cgroup v2. */
const MAX_WEIGHT = 10_000;

/** Limits the I/O of all disks of a guest together. A disk limited by the source in another way stays as it is. */
export function throttleDisks(devices: Element): void {
  for (const disk of childElements(devices, 'disk')) {
    const before = child(disk, 'iotune');
    if (before && child(before, 'group_name')?.children[0] !== GROUP) continue;
    removeChildren(disk, ['iotune']);
    disk.children.push(diskLimits());
  }
}

function diskLimits(): Element {
  const { disk } = GUEST_LIMITS;
  const limits: [string, number | string][] = [
    ['total_bytes_sec', disk.bytesPerSecond],
    ['total_iops_sec', disk.operationsPerSecond],
    ['total_bytes_sec_max', disk.burstBytesPerSecond],
    ['total_iops_sec_max', disk.burstOperationsPerSecond],
    ['group_name', GROUP],
    ['total_bytes_sec_max_length', disk.burstSeconds],
    ['total_iops_sec_max_length', disk.burstSeconds],
  ];
  return element('iotune', {}, ...limits.map(([name, value]) => element(name, {}, String(value))));
}

/** Limits QEMU's own threads; a vCPU thread can't use more than a CPU. On a busy host vCPUs get equal shares. */
export function throttleCpus(domain: Element): void {
  const weight = Math.min(cpuCount(domain) * GUEST_LIMITS.cpu.weightPerCpu, MAX_WEIGHT);
  const limits: [string, number][] = [
    ['shares', weight],
    ['emulator_period', PERIOD_US],
    ['emulator_quota', EMULATOR_QUOTA_US],
  ];
  domain.children.push(element('cputune', {}, ...limits.map(([name, value]) => element(name, {}, String(value)))));
}
