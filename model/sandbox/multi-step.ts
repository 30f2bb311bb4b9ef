import type { StepTiming } from './sandbox.ts';

/**
 * Heartbeat details of an activity that runs several steps of a sandbox in sequence: displayed in the Temporal UI, and
 * the starting point of a retry.
 */
export interface MultiStepHeartbeat {
  /** Current step; empty: waiting for an earlier activity of the same sandbox. */
  step: string;
  /** Latest progress message of the step. */
  seen: string;
  /** Finished steps with their results. */
  done: DoneStep[];
}

export interface DoneStep extends StepTiming {
  result: unknown;
}

/** Details of the failure of such an activity. */
export interface MultiStepFailure {
  /** Failed step; empty: none was started. */
  step: string;
  /** True when no attempt started an earlier step, so a refusal left nothing behind. */
  isFirst: boolean;
}

export function isMultiStepHeartbeat(value: unknown): value is MultiStepHeartbeat {
  if (typeof value !== 'object' || value === null) return false;
  return 'step' in value && 'seen' in value && 'done' in value && Array.isArray(value.done);
}

export function isMultiStepFailure(value: unknown): value is MultiStepFailure {
  return typeof value === 'object' && value !== null && 'step' in value && 'isFirst' in value;
}
