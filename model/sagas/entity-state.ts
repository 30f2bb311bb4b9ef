import type { HostRef } from '../host.ts';
import type { Actor, SandboxFailure, SandboxRecord, StepTiming, StopReason } from '../sandbox/sandbox.ts';

/**
 * State of a sandbox's entity workflow across continue-as-new: never during a create or an operation, so it holds no
 * compensations. Some kilobytes, mostly the record's metadata.
 */
export interface EntityState {
  /**
   * Record as last written by the run; the next run does not read the store, which may have been restored from a
   * backup.
   */
  record: SandboxRecord;
  /** Finished steps of its create, then of the latest operation, then of its end. */
  steps: StepTiming[];
  /** Steps of the create. */
  createSteps: StepTiming[] | null;
  /** Latest use known to the workflow, ms since 1970. */
  usedAt: number;
  /** Number of started operations, from which the next generation is derived. */
  operations: number;
  /** Outcomes of the latest operations, oldest first, for retries and waiting callers. */
  outcomes: OperationOutcome[];
  /** Number of snapshots that its disks refer to, according to the latest snapshot. */
  chainLength: number;
  /** True when its disks refer to a deleted ephemeral snapshot. */
  hasDeletedLayer: boolean;
  /** Update ids of the latest spec updates, oldest first: a repeated one changes nothing. */
  updateIds: string[];
  /** Candidate hosts whose steps of the create failed or timed out, and are not compensated yet. */
  uncompensated: HostRef[];
  /** Candidate hosts that were decommissioned. */
  decommissioned: HostRef[];
  /** Ids of workflows that wait for it, besides its parent. */
  subscribers: string[];
  /** Reason of its end; null: not ending. A run that starts with a reason has recorded it, and only removes residue. */
  end: SandboxEnd | null;
}

/** Initial state of a requested or adopted sandbox. */
export function initialEntityState(record: SandboxRecord, usedAt: number): EntityState {
  return {
    record,
    steps: [],
    createSteps: null,
    usedAt,
    operations: 0,
    outcomes: [],
    chainLength: 0,
    hasDeletedLayer: false,
    updateIds: [],
    uncompensated: [],
    decommissioned: [],
    subscribers: [],
    end: null,
  };
}

/** Reason of a sandbox's end. The first one wins. */
export interface SandboxEnd {
  reason: StopReason;
  /** Principal that requested the end; null: none. */
  actor: Actor | null;
  /** Null: not a failure. */
  failure: SandboxFailure | null;
}

/** Outcome of an operation. */
export interface OperationOutcome {
  operationId: string;
  /** Null: success. */
  failure: SandboxFailure | null;
}

/**
 * Failure type of a message that is refused because the run is about to continue as new. The caller resends it to the
 * next run.
 */
export const RUN_CONTINUES = 'run_continues';
