import type { ErrorCode } from '../errors.ts';
import type { HostRef } from '../host.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

export type SourcePowerTask = 'start' | 'stop';

/** Workflow that starts or stops a source, one at a time per source; its id is {@link sourcePowerWorkflowId}. */
export const SOURCE_POWER_WORKFLOW = 'sourcePower';
export interface SourcePowerInput extends HostRef {
  task: SourcePowerTask;
  sourceId: string;
  name: string;
  /** Hard stop, like pulling the power cord. */
  force: boolean;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Result of a successful task. */
export interface SourcePowerResult {
  /** True when its guest agent answers; null: it has none, or is shut off. */
  guestAnswers: boolean | null;
}

/** Outcome of a task. */
export type SourcePowerOutcome =
  | ({ failure: null } & SourcePowerResult)
  | { failure: { code: ErrorCode; message: string } };

/** Key of Temporal's memo that holds the task of the running workflow. */
export const SOURCE_POWER_MEMO = 'power';

/** Signal with an {@link Actor}: turns a graceful stop in progress into a hard one. */
export const FORCE_STOP = 'forceStop';

/**
 * Separate from {@link sourceWorkflowIdOf}, so that an unprepare waiting for a running source does not block its start.
 */
export function sourcePowerWorkflowId({ hostId, name }: Pick<SourcePowerInput, 'hostId' | 'name'>): string {
  return `source-power/${hostId}/${name}`;
}
