/** State of a domain; `unknown` for any other text of virsh. */
export type DomainState =
  | 'running'
  | 'paused'
  | 'shutting_down'
  | 'shut_off'
  | 'crashed'
  | 'suspended'
  | 'dying'
  | 'unknown';

/**
 * States of virsh, from `virshDomainState` in libvirt's tools/virsh-domain-monitor.c; `idle` is a domain blocked on
 * I/O.
 */
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

/** Parses `virsh domstate`, ignoring the reason of `--reason`. */
export function domainState(text: string): DomainState {
  const words = text
    .trim()
    .toLowerCase()
    .replace(/\s*\([^)]*\)$/, '')
    .replace(/\s+/g, ' ');
  return Object.hasOwn(STATES, words) ? (STATES[words] ?? 'unknown') : 'unknown';
}

/** True when `virsh domstate --reason` reports a failed disk write (tools/virsh-domain-monitor.c). */
export function isStoppedByError(text: string): boolean {
  return /^paused \(I\/O error\)$/i.test(text.trim());
}

/** True when the domain has, or may have, a QEMU that holds its disks open. */
export function isActive(state: DomainState): boolean {
  return state !== 'shut_off' && state !== 'crashed';
}
