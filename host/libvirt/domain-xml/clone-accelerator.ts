import { child, type Element, ensureChild, removeChildren, setText } from '../client/xml.ts';

/** CPU modes that pass the host's own CPU to the guest; only KVM can. */
const HOSTS_CPU = ['host-passthrough', 'host-model'];

/**
 * Limit of QEMU's cache of translated code, MiB. The default, an eighth of the host's memory up to 1 GiB, fills over
 * time: 890 MiB for a guest of 512. With this one it is 400, and a boot takes no longer (docs/performance.md).
 */
const TRANSLATED_CODE_MIB = 128;

/**
 * Adapts the domain to this host's accelerator. Without KVM the CPU is the most that TCG emulates, and KVM-only
 * features (its paravirtual clocks and enlightenments) are removed.
 */
export function setAccelerator(domain: Element, accelerator: 'kvm' | 'tcg'): void {
  if (accelerator === 'kvm') {
    const own = child(domain, 'features');
    if (own) removeChildren(own, ['tcg']);
    return;
  }
  domain.attributes['type'] = 'qemu';
  const cpu = child(domain, 'cpu');
  if (cpu && (HOSTS_CPU.includes(cpu.attributes['mode'] ?? '') || child(cpu, 'model'))) {
    cpu.attributes = { mode: 'maximum' };
    removeChildren(cpu, ['model', 'vendor', 'feature', 'cache', 'maxphysaddr']);
  }
  const features = ensureChild(domain, 'features');
  removeChildren(features, ['kvm', 'hyperv', 'pvspinlock', 'pmu']);
  const cache = ensureChild(ensureChild(features, 'tcg'), 'tb-cache');
  cache.attributes = { unit: 'MiB' };
  setText(cache, String(TRANSLATED_CODE_MIB));
  const clock = child(domain, 'clock');
  const kvmTimers = ['kvmclock', 'hypervclock', 'tsc'];
  if (clock) removeChildren(clock, (c) => c.name === 'timer' && kvmTimers.includes(c.attributes['name'] ?? ''));
}
