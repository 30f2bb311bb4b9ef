import { MayflyError } from '../errors.ts';
import type { SandboxState } from './sandbox-state.ts';

/**
 * Which states may follow each in a sandbox's record. A record may stay in its state; a phase that is over before it is
 * written leaves its state out, so `requested` may be followed by `running`. What has ended is never opened again.
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

/** @throws MayflyError internal when no sandbox goes that way: the workflow is wrong, and writes nothing */
export function assertTransition(id: string, from: SandboxState, to: SandboxState): void {
  if (to === from || TRANSITIONS[from].includes(to)) return;
  throw new MayflyError('internal', `${id} cannot go from ${from} to ${to}.`);
}
