import type { Actor } from '../sandbox/sandbox.ts';

export interface StopRequest {
  actor: Actor;
  /** Workflow that is notified when the sandbox has ended. `@default` none */
  subscriber?: string;
}
