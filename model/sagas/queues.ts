import type { HostRef } from '../host.ts';

// Separate from ids.ts, whose hash functions every workflow would load at its start.

/** Returns the Temporal workflow id of a sandbox's entity workflow. */
export function sandboxWorkflowId(sandboxId: string): string {
  return `sandbox/${sandboxId}`;
}

/**
 * Returns the task queue for everything that touches a host. Another installation of the same host id has another
 * queue, so a task never runs on the wrong machine.
 */
export function hostQueue({ hostId, installationId }: HostRef): string {
  return `${hostQueuePrefix(hostId)}${installationId}`;
}

/** Returns the common prefix of a host id's queues in all its installations. */
export function hostQueuePrefix(hostId: string): string {
  return `host-${hostId}/`;
}

/** Generation above all operations, usable without knowing their number. */
export const CLEANUP_GENERATION = 1_000_000_000;

/** Task queue of workflows, and of activities that use the store or the user CA. */
export const CONTROL_QUEUE = 'mayfly-control';
