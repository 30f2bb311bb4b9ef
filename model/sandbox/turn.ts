import type { StepTiming } from './sandbox.ts';

/**
 * A turn: several steps of one sandbox that a host does in one activity, one after another. What its heartbeat says is
 * what the Temporal UI shows, and where the next attempt goes on.
 */
export interface TurnBeat {
  /** The step that it is at; empty: it waits for its turn. */
  step: string;
  /** The last that the step said of itself. */
  seen: string;
  /** The steps that are over, each with what it returned. */
  done: DoneStep[];
}

export interface DoneStep extends StepTiming {
  result: unknown;
}

/** What the failure of a turn has as its details. */
export interface TurnFailure {
  /** The step that failed; empty: it never had its turn. */
  step: string;
  /** No attempt was at any step before this one, so a refusal to begin has left nothing behind. */
  isFirst: boolean;
}

export function isTurnBeat(value: unknown): value is TurnBeat {
  if (typeof value !== 'object' || value === null) return false;
  return 'step' in value && 'seen' in value && 'done' in value && Array.isArray(value.done);
}

export function isTurnFailure(value: unknown): value is TurnFailure {
  return typeof value === 'object' && value !== null && 'step' in value && 'isFirst' in value;
}
