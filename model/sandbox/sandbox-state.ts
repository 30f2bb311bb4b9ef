import type { HostRef } from '../host.ts';

/**
 * requested → creating(placing, cloning, booting, awaiting-ip, verifying-ssh) → running → destroying → destroyed
 * running ⇄ paused, running | paused → hibernated → running, running | paused → restoring → running
 *
 * `creating` ends in `running`; on failure, cancellation, deletion or expiry in `destroying`. `destroying` ends in
 * `destroyed` after a request (deletion, TTL, idle), and in `failed` after a failed create or a dead machine; both mean
 * that the cleanup was proved. While `restoring` its machine is replaced from a snapshot. While `hibernated` it has no
 * machine: its memory is on the host's disk. A pool member goes from `creating` to `warm`, and is `running` once
 * claimed.
 */
export const SANDBOX_STATES = [
  'requested',
  'creating',
  'running',
  'paused',
  'hibernated',
  'restoring',
  'warm',
  'destroying',
  'destroyed',
  'failed',
] as const;
export type SandboxState = (typeof SANDBOX_STATES)[number];

/** True for final states: nothing of the sandbox is left on any host. */
export function isFinal(state: SandboxState): boolean {
  return state === 'destroyed' || state === 'failed';
}

export const OPEN_STATES = SANDBOX_STATES.filter((state) => !isFinal(state));

/** True when the outcome of its create is known: it reached `running`, or nothing of it is left. */
export function isCreateFinished(state: SandboxState): boolean {
  return state === 'running' || isSuspended(state) || state === 'restoring' || isFinal(state);
}

/** True when its processes stand still until it is resumed. */
export function isSuspended(state: SandboxState): boolean {
  return state === 'paused' || state === 'hibernated';
}

/** True for an unclaimed pool member, which belongs to its project but to no caller. */
export function isUnclaimed({ pool }: { pool?: { claimedBy: string | null } }): boolean {
  return pool !== undefined && pool.claimedBy === null;
}

/** Returns its host; null: none. */
export function getHost({ hostId, installationId }: { [Field in keyof HostRef]: string | null }): HostRef | null {
  return hostId === null || installationId === null ? null : { hostId, installationId };
}
