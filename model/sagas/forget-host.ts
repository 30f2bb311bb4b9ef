import type { Actor } from '../sandbox/sandbox.ts';

/** Workflow that decommissions a permanently lost host; its id is {@link decommissionHostWorkflowId}. */
export const DECOMMISSION_HOST_WORKFLOW = 'forgetHost';
export interface DecommissionHostInput {
  hostId: string;
  actor: Actor;
  /** Time of the request, ISO 8601. */
  at: string;
}

export function decommissionHostWorkflowId(hostId: string): string {
  return `forget/${hostId}`;
}
