import type { HostRef } from '../host.ts';
import type { Actor, SandboxFailure, SandboxRecord, StepTiming, StopReason } from '../sandbox/sandbox.ts';

/**
 * State of a sandbox's entity workflow, which a run hands to the next one when it continues as new: never in the middle of a
 * create or an operation, so it holds no compensations. Some kilobytes, most of them the record's metadata.
 */
export interface EntityState {
  /** As the run has written it last: the next one does not read a store that may have been set back. */
  record: SandboxRecord;
  /** Finished steps of its create, then of the latest operation, then of its end. */
  steps: StepTiming[];
  /** Of those, the create's. */
  createSteps: StepTiming[] | null;
  /** Latest use that the workflow knows of, milliseconds since 1970. */
  usedAt: number;
  /** Number of operations that were begun: the generation of the next one goes on rising. */
  operations: number;
  /** Outcomes of the latest operations, the oldest first, for a caller who asks again or still waits. */
  outcomes: OperationOutcome[];
  /** Number of snapshots that its disks refer to, as its latest snapshot found. */
  chainLength: number;
  /** Its disks refer to an ephemeral snapshot that is deleted. */
  hasDeletedLayer: boolean;
  /** Update ids of the latest spec updates, the oldest first: one that is sent again changes nothing. */
  updateIds: string[];
  /** Hosts with steps of the create that refused or did not answer, and are not compensated yet. */
  uncompensated: HostRef[];
  /** Those of the candidate hosts that were decommissioned. */
  decommissioned: HostRef[];
  /** Workflow ids of those that wait for it, besides its parent. */
  subscribers: string[];
  /** Why it ends; null: it does not. A run that begins with one has recorded it, and only removes what is left. */
  end: SandboxEnd | null;
}

/** State of a sandbox that is requested, or adopted. */
export function newEntityState(record: SandboxRecord, usedAt: number): EntityState {
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

/** Why a sandbox ends. The first reason counts. */
export interface SandboxEnd {
  reason: StopReason;
  /** Who asked for it; null: nobody did. */
  actor: Actor | null;
  /** Null: it did not fail. */
  failure: SandboxFailure | null;
}

/** How an operation ended. */
export interface OperationOutcome {
  operationId: string;
  /** Null: it was done. */
  failure: SandboxFailure | null;
}

/**
 * Type of the failure with which a message is refused whose run is about to continue as new. The caller sends it again, to the
 * next run.
 */
export const RUN_CONTINUES = 'run_continues';
