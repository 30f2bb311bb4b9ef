import type { Actor } from '../sandbox/sandbox.ts';

export interface StopRequest {
  actor: Actor;
}
