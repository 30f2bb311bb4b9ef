import type { HostRef } from '../host.ts';

// Apart from ids.ts, whose hash functions every workflow would load at its start.

/** The Temporal workflow id of a sandbox's entity workflow. */
export function workflowIdOf(sandboxId: string): string {
  return `sandbox/${sandboxId}`;
}

/**
 * The task queue of everything that touches the host. Another installation of the same host id has another queue, so a task
 * is never answered on the wrong machine.
 */
export function hostQueue({ hostId, installationId }: HostRef): string {
  return `${hostQueuePrefix(hostId)}${installationId}`;
}

/** Start of the names of all queues of a host id, whichever installation serves it. */
export function hostQueuePrefix(hostId: string): string {
  return `host-${hostId}/`;
}

/** Beyond all operations, also for whoever takes over and does not know how many there were. */
export const CLEANUP_GENERATION = 1_000_000_000;

/** The task queue of workflows and of the activities that touch the store or the user CA. */
export const CONTROL_QUEUE = 'mayfly-control';
