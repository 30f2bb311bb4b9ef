import type { Actor } from '../sandbox/sandbox.ts';

/** Workflow that decommissions a permanently lost host; its id is {@link forgetHostWorkflowIdOf}. */
export const FORGET_HOST_WORKFLOW = 'forgetHost';
export interface ForgetHostInput {
  hostId: string;
  actor: Actor;
  /** Time of the request, ISO 8601. */
  at: string;
}

export function forgetHostWorkflowIdOf(hostId: string): string {
  return `forget/${hostId}`;
}
