import { isSandboxId } from '../../../model/sandbox-id.ts';

/** State and reason by libvirt's numbers (virDomainState and its reasons, include/libvirt/libvirt-domain.h). */
export interface NumberedState {
  state: number;
  reason: number;
}

/** virDomainState: VIR_DOMAIN_PAUSED, _SHUTOFF, _CRASHED. */
const [PAUSED, SHUT_OFF, CRASHED] = [3, 5, 6];
/** virDomainPausedReason: VIR_DOMAIN_PAUSED_IOERROR, _WATCHDOG, _CRASHED. */
const PAUSED_BY = { ioError: 5, watchdog: 6, crash: 10 };
/** virDomainShutoffReason: VIR_DOMAIN_SHUTOFF_CRASHED, _FAILED, _DAEMON. */
const SHUT_OFF_BY_CRASH: ReadonlySet<number> = new Set([3, 6, 8]);

/** Parses `virsh domstats --state`: returns the sandboxes in it. Other domains are left out. */
export function machineStates(text: string): Map<string, NumberedState> {
  const found = new Map<string, NumberedState>();
  for (const block of text.split(/^Domain: /m)) {
    const [, name = ''] = /^'([^'\n]*)'\n/.exec(block) ?? [];
    const state = numberIn(block, 'state.state');
    if (isSandboxId(name) && state !== null) found.set(name, { state, reason: numberIn(block, 'state.reason') ?? 0 });
  }
  return found;
}

/** Classifies a state; `paused-by-error` may be a lack of space. A rebooting guest has not ended. */
export function classifyState({ state, reason }: NumberedState): 'on' | 'stopped' | 'crashed' | 'paused-by-error' {
  if (state === SHUT_OFF) return SHUT_OFF_BY_CRASH.has(reason) ? 'crashed' : 'stopped';
  if (state === CRASHED) return 'crashed';
  if (state !== PAUSED) return 'on';
  if (reason === PAUSED_BY.ioError) return 'paused-by-error';
  return reason === PAUSED_BY.crash || reason === PAUSED_BY.watchdog ? 'crashed' : 'on';
}

/**
 * True when a line of `virsh event --event lifecycle` may report an end and so deserves an inspection. Only a hint: the
 * domain's name is ignored.
 */
export function mayReportEnd(line: string): boolean {
  return /\bevent 'lifecycle' for domain .*: (?:Stopped|Crashed|Undefined|Suspended)\b/.test(line);
}

/** True when `virsh domblkerror` reports a failure other than lack of space (tools/virsh-domain-monitor.c). */
export function hasFailedDisk(text: string): boolean {
  return text.split('\n').some((line) => /: unspecified error\s*$/.test(line)) && !/: no space\s*$/m.test(text);
}

function numberIn(block: string, field: string): number | null {
  const [, digits] = new RegExp(`^ {2}${field.replace('.', '\\.')}=(\\d{1,9})$`, 'm').exec(block) ?? [];
  return digits === undefined ? null : Number(digits);
}
