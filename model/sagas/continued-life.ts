import type { HostRef } from '../host.ts';
import type { SandboxFailure, SandboxRecord, StepTiming } from '../sandbox/sandbox.ts';
import type { StopRequest } from './stop-request.ts';

/**
 * What a run of a sandbox's workflow hands to the next one when it continues as new: never in the middle of a create or an
 * operation, so there are no undos among it. Some kilobytes, most of them the record's metadata.
 */
export interface ContinuedLife {
  /** As the run has written it last: the next one asks no store, which may have been set back. */
  record: SandboxRecord;
  /** What is over of its create, then of the latest operation besides, then of its end. */
  steps: StepTiming[];
  /** Of those, the create's. */
  createSteps: StepTiming[] | null;
  /** Milliseconds since 1970. */
  usedAt: number;
  /** How many operations were begun: the generation of the next one goes on rising. */
  operations: number;
  /** The latest that are over, the oldest first, for who asks again or has not heard of the end yet. */
  outcomes: OperationOutcome[];
  chainLength: number;
  /** `@default` false */
  hasDeletedLayer?: boolean;
  /** The latest PATCHes, by the ids of their updates, the oldest first: one that is sent again changes nothing. */
  patches: string[];
  /** Who asked for the end. */
  stop: StopRequest | null;
  /** Of the hosts that were asked those that were given up. `@default` none */
  forgottenHosts?: HostRef[];
  /** Set while nothing is left but to take away what there is, and to prove it. */
  ending: { failure: SandboxFailure | null } | null;
}

/** How an operation ended. */
export interface OperationOutcome {
  operationId: string;
  /** Null: it was done. */
  failure: SandboxFailure | null;
}

/**
 * With this type of failure a message is refused whose run is about to continue as new. It was not heard, and is to be sent
 * again: the next run takes it.
 */
export const RUN_CONTINUES = 'run_continues';
