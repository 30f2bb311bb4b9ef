import type { Actor } from '../sandbox/sandbox.ts';

/** The workflow that gives a host up which is lost for good; its id is {@link forgetHostWorkflowIdOf}. */
export const FORGET_HOST_WORKFLOW = 'forgetHost';
export interface ForgetHostInput {
  hostId: string;
  actor: Actor;
  /** When it was asked for, ISO 8601. */
  at: string;
}

export function forgetHostWorkflowIdOf(hostId: string): string {
  return `forget/${hostId}`;
}
