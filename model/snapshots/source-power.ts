import type { ErrorCode } from '../errors.ts';
import type { HostRef } from '../host.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

export type SourcePowerTask = 'start' | 'stop';

/** The workflow type, and the input of its one execution at a time; its id is {@link sourcePowerWorkflowIdOf}. */
export const SOURCE_POWER_WORKFLOW = 'sourcePower';
export interface SourcePowerInput extends HostRef {
  task: SourcePowerTask;
  sourceId: string;
  name: string;
  /** Of a stop: as if its power cord were pulled. */
  force: boolean;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** What a task that succeeded says. */
export interface SourcePowered {
  /** Whether its guest agent answers; null: it has none, or is shut off. */
  guestAnswers: boolean | null;
}

/** How a task ended. */
export type SourcePowerEnd = ({ failure: null } & SourcePowered) | { failure: { code: ErrorCode; message: string } };

/** Where a run's task is told to whoever finds it running: Temporal's memo. */
export const SOURCE_POWER_MEMO = 'power';

/** A stop that is under way need not be graceful any more: a signal, with who says so. */
export const FORCE_STOP = 'forceStop';

/** Its own, not {@link sourceWorkflowIdOf}: an unprepare that waits for a source to run must not keep it from being started. */
export function sourcePowerWorkflowIdOf({ hostId, name }: Pick<SourcePowerInput, 'hostId' | 'name'>): string {
  return `source-power/${hostId}/${name}`;
}
