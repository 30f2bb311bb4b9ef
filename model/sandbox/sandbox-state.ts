import type { HostRef } from '../host.ts';

/**
 * requested → creating(placing, cloning, booting, awaiting-ip, verifying-ssh) → running → destroying → destroyed
 *                              running ⇄ paused, running | paused → hibernated → running, running | paused → restoring → running
 *
 * `creating` ends in `running`, or on failure, cancel, delete or expiry in `destroying`. `destroying` ends in
 * `destroyed` when somebody asked for it (delete, ttl, idle) and in `failed` when the create itself failed, or its machine
 * died; both mean that the cleanup was proved. While `restoring` its machine goes off and comes back from a snapshot. What is
 * `hibernated` has no machine: its memory is on the host's disk. A member of a pool ends its `creating` in `warm`, and is
 * `running` when it is claimed.
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

/** States that never change again: nothing of the sandbox is left on any host. */
export function isFinal(state: SandboxState): boolean {
  return state === 'destroyed' || state === 'failed';
}

/** Of what has not ended. */
export const LIVING_STATES = SANDBOX_STATES.filter((state) => !isFinal(state));

/** Whether the outcome of its create can be told: it came to run, or nothing of it is left. */
export function isSettled(state: SandboxState): boolean {
  return state === 'running' || isAsleep(state) || state === 'restoring' || isFinal(state);
}

/** Whether nothing in it moves until it is resumed. */
export function isAsleep(state: SandboxState): boolean {
  return state === 'paused' || state === 'hibernated';
}

/** A member of a pool that nobody has claimed: no caller's, though its project's. */
export function isUnclaimed({ pool }: { pool?: { claimedBy: string | null } }): boolean {
  return pool !== undefined && pool.claimedBy === null;
}

/** The host that has it; null when none has. */
export function hostOf({ hostId, installationId }: { [Field in keyof HostRef]: string | null }): HostRef | null {
  return hostId === null || installationId === null ? null : { hostId, installationId };
}
