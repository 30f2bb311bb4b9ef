import { MayflyError } from '../errors.ts';
import type { SandboxState } from './sandbox-state.ts';

/**
 * Allowed successors of each state in a sandbox's record. A record may keep its state; short phases are not written, so
 * `running` may follow `requested`. Final states have no successor.
 */
export const TRANSITIONS: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  requested: ['creating', 'running', 'warm', 'destroying'],
  creating: ['running', 'warm', 'destroying'],
  warm: ['running', 'destroying'],
  running: ['paused', 'hibernated', 'restoring', 'destroying'],
  paused: ['running', 'hibernated', 'restoring', 'destroying'],
  hibernated: ['running', 'restoring', 'destroying'],
  restoring: ['running', 'destroying'],
  destroying: ['destroyed', 'failed'],
  destroyed: [],
  failed: [],
};

/** @throws MayflyError internal for a disallowed transition, which is a bug in the workflow */
export function assertTransition(id: string, from: SandboxState, to: SandboxState): void {
  if (to === from || TRANSITIONS[from].includes(to)) return;
  throw new MayflyError('internal', `${id} cannot go from ${from} to ${to}.`);
}
