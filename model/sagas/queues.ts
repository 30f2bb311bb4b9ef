// Apart from ids.ts, whose hash functions every workflow would load at its start.

/** The Temporal workflow id of a sandbox's entity workflow. */
export function workflowIdOf(sandboxId: string): string {
  return `sandbox/${sandboxId}`;
}

/** The task queue of everything that touches the host. */
export function hostQueue(hostId: string): string {
  return `host-${hostId}`;
}

/** The task queue of workflows and of the activities that touch the store or the user CA. */
export const CONTROL_QUEUE = 'mayfly-control';
