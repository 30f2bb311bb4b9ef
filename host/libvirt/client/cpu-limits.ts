import { randomUUID } from 'node:crypto';
import { type Virsh, VirshError } from './virsh.ts';
import { buildXml, element } from './xml.ts';

/** Text of libvirt's error without a CPU cgroup (virCgroupSetupVcpuBW, qemuProcessSetupPid). */
const NO_CGROUP = /\bcgroup\b/i;

/**
 * Reports whether libvirt can limit a domain's CPU time. The cgroup needed is not visible from outside, so a domain
 * without disks is started for a moment. @throws VirshError when none starts
 */
export async function limitsCpus(virsh: Pick<Virsh, 'tryStart'>, accelerator: 'kvm' | 'tcg'): Promise<boolean> {
  const domain = element(
    'domain',
    { type: accelerator === 'kvm' ? 'kvm' : 'qemu' },
    element('name', {}, `mayfly-probe-${randomUUID()}`),
    element('memory', { unit: 'MiB' }, '16'),
    element('os', {}, element('type', {}, 'hvm')),
    element('cputune', {}, element('emulator_period', {}, '100000'), element('emulator_quota', {}, '100000')),
  );
  try {
    await virsh.tryStart(buildXml(domain));
    return true;
  } catch (error) {
    if (error instanceof VirshError && NO_CGROUP.test(error.stderr)) return false;
    throw error;
  }
}
