/** What a domain does, in our words; `unknown` for whatever virsh says that we have no word for. */
export type DomainState =
  | 'running'
  | 'paused'
  | 'shutting_down'
  | 'shut_off'
  | 'crashed'
  | 'suspended'
  | 'dying'
  | 'unknown';

/** virsh's words, from `virshDomainState` in libvirt's tools/virsh-domain-monitor.c; `idle` is a domain blocked on I/O. */
const STATES: Record<string, DomainState> = {
  running: 'running',
  idle: 'running',
  blocked: 'running',
  paused: 'paused',
  'in shutdown': 'shutting_down',
  'shut off': 'shut_off',
  shutoff: 'shut_off',
  crashed: 'crashed',
  dying: 'dying',
  pmsuspended: 'suspended',
};

/** Reads `virsh domstate`. With `--reason` the reason in brackets is left out. */
export function domainState(text: string): DomainState {
  const words = text
    .trim()
    .toLowerCase()
    .replace(/\s*\([^)]*\)$/, '')
    .replace(/\s+/g, ' ');
  return Object.hasOwn(STATES, words) ? (STATES[words] ?? 'unknown') : 'unknown';
}

/** Whether `virsh domstate --reason` says that QEMU stopped the domain: a disk of its could not write (tools/virsh-domain-monitor.c). */
export function isStoppedByError(text: string): boolean {
  return /^paused \(I\/O error\)$/i.test(text.trim());
}

/** Whether the domain has, or may have, a QEMU that holds its disks open. */
export function isActive(state: DomainState): boolean {
  return state !== 'shut_off' && state !== 'crashed';
}
