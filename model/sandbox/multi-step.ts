import type { StepTiming } from './sandbox.ts';

/**
 * The heartbeat details of an activity in which a host does several steps of one sandbox, one after another: what the
 * Temporal UI shows, and where the next attempt goes on.
 */
export interface MultiStepHeartbeat {
  /** The step that it is at; empty: it waits for an earlier activity of the same sandbox. */
  step: string;
  /** The last that the step said of itself. */
  seen: string;
  /** The steps that are over, each with what it returned. */
  done: DoneStep[];
}

export interface DoneStep extends StepTiming {
  result: unknown;
}

/** The details of the failure of such an activity. */
export interface MultiStepFailure {
  /** The step that failed; empty: it never began one. */
  step: string;
  /** No attempt was at any step before this one, so a refusal to begin has left nothing behind. */
  isFirst: boolean;
}

export function isMultiStepHeartbeat(value: unknown): value is MultiStepHeartbeat {
  if (typeof value !== 'object' || value === null) return false;
  return 'step' in value && 'seen' in value && 'done' in value && Array.isArray(value.done);
}

export function isMultiStepFailure(value: unknown): value is MultiStepFailure {
  return typeof value === 'object' && value !== null && 'step' in value && 'isFirst' in value;
}
