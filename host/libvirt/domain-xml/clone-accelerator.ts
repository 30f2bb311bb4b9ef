import { child, type Element, removeChildren } from '../client/xml.ts';

/** CPU modes that hand the host's own CPU to the guest; only KVM can. */
const HOSTS_CPU = ['host-passthrough', 'host-model'];

/**
 * Makes the domain run under what this host has. Without KVM the CPU is the most that TCG emulates, and what only
 * KVM offers (its paravirtual clocks and enlightenments) goes.
 */
export function setAccelerator(domain: Element, accelerator: 'kvm' | 'tcg'): void {
  if (accelerator === 'kvm') return;
  domain.attributes['type'] = 'qemu';
  const cpu = child(domain, 'cpu');
  if (cpu && (HOSTS_CPU.includes(cpu.attributes['mode'] ?? '') || child(cpu, 'model'))) {
    cpu.attributes = { mode: 'maximum' };
    removeChildren(cpu, ['model', 'vendor', 'feature', 'cache', 'maxphysaddr']);
  }
  const features = child(domain, 'features');
  if (features) removeChildren(features, ['kvm', 'hyperv', 'pvspinlock', 'pmu']);
  const clock = child(domain, 'clock');
  const kvmTimers = ['kvmclock', 'hypervclock', 'tsc'];
  if (clock) removeChildren(clock, (c) => c.name === 'timer' && kvmTimers.includes(c.attributes['name'] ?? ''));
}
