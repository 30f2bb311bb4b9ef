import { type Connection, Schema } from 'mongoose';
import type { RunRecord } from '../../model/functions/run.ts';
import { CLEANUPS, RUN_OUTCOMES, RUN_STATES, SKIPS } from '../../model/functions/run-state.ts';
import { isRunId } from '../../model/ids.ts';
import { WAIT_SLOTS } from '../../model/waitpoints/waiting.ts';
import type { StoredBytes } from '../mongo/bytes.ts';
import {
  actorPart,
  ENCRYPTED,
  ENCRYPTED_FAILURE,
  ENCRYPTED_TEXT,
  NAME,
  NULLABLE_NUMBER,
  NULLABLE_TEXT,
  NUMBER,
  strictPart,
  TEXT,
} from '../mongo/schema.ts';
import { type DocumentOf, Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Where a run stands in the queue of its function: see run-queue.ts. */
export interface QueueFields {
  /** While it is queued, and while one whose machine is hibernated waits for slots. */
  queued?: string;
  /** Of which project, while it waits and its event is kept by itself. */
  large?: string;
  /** Only while it gathers with others: see gathered-runs.ts. */
  gathers?: string;
  /** While its event is to be checked by the schema of its function: see unchecked-runs.ts. */
  unchecked?: string;
  /** Of a batch: what became of it is to be written to the runs of its events. */
  untold?: 'members';
  /** When something is to be done with it, whatever becomes of others: before its admission, and while its cancel is to be told. ISO 8601. */
  wakeAt?: string;
  /** From its admission until nothing of it is left: whether its workflow has begun. */
  admitted?: 'not-begun' | 'begun';
  /** From when nothing of it is left until its receipt is signed: since when. ISO 8601. */
  unsigned?: string;
  /** The slots that it holds, of its concurrency rules in their order, as long as it is admitted. */
  slot0?: string;
  slot1?: string;
  /** The last that it took of its throttle, and what that is: see run-tickets.ts. Milliseconds since 1970. */
  ticket?: string;
  ticketAt?: number;
  ticketUntil?: number;
  /** How often it could not be admitted, for another reason than room. */
  failedAdmissions?: number;
}

export type RunDocument = DocumentOf<RunRecord> &
  QueueFields & {
    /** The event in the JSON format of CloudEvents; null: it is large, and kept by itself. */
    eventJson: StoredBytes | null;
    /** When it may be removed; set with its end. ISO 8601. */
    removeAfter?: string;
    /** Digest of the value of its first concurrency key; it has none: there is none. */
    keyed?: string;
    /** Only while it is a dead letter. */
    deadLetter?: 'yes';
    /** When it ended, and when its cleanup was known, as long as nobody was told (store/webhooks/). ISO 8601. */
    untoldEnd?: string;
    untoldCleanup?: string;
  };

/** Part of what is asked of runs: each has queries of its own. */
export abstract class RunRepository extends Repository<RunRecord, RunDocument> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { fields: runFields(), internal: INTERNAL };
    super(connection, sealing, { collection: 'runs', noun: 'a run', isId: isRunId, ...fields });
  }
}

function runFields() {
  return {
    project: NAME,
    function: NAME,
    version: NUMBER,
    versionDigest: NAME,
    state: { type: String, required: true, enum: RUN_STATES },
    cleanup: { type: String, required: true, enum: CLEANUPS },
    waitingFor: NULLABLE_TEXT,
    outcome: { type: String, default: null, enum: [...RUN_OUTCOMES, null] },
    skippedFor: { type: String, default: null, enum: [...SKIPS, null] },
    supersededBy: NULLABLE_TEXT,
    exitCode: NULLABLE_NUMBER,
    signal: NULLABLE_TEXT,
    failure: ENCRYPTED_FAILURE,
    event: ENCRYPTED,
    eventBytes: NUMBER,
    eventDigest: NAME,
    keys: ENCRYPTED,
    throttleKey: ENCRYPTED,
    lane: ENCRYPTED,
    lateBinding: { type: Boolean, required: true },
    gathering: { type: Schema.Types.Mixed, default: null },
    gatheringKey: ENCRYPTED,
    events: ENCRYPTED,
    isBatch: { type: Boolean, required: true },
    batch: NULLABLE_TEXT,
    priority: NUMBER,
    dedupe: NAME,
    epoch: NUMBER,
    dedupeUntil: NAME,
    acceptedAt: NAME,
    seq: NUMBER,
    dueAt: NULLABLE_TEXT,
    expiresAt: NAME,
    admittedAt: NULLABLE_TEXT,
    startedAt: NULLABLE_TEXT,
    endedAt: NULLABLE_TEXT,
    updatedAt: NAME,
    retentionDays: NUMBER,
    attempts: ENCRYPTED,
    tries: NUMBER,
    member: NULLABLE_TEXT,
    members: { type: [String], default: undefined },
    failedStarts: NUMBER,
    result: ENCRYPTED,
    artifacts: ENCRYPTED,
    schedule: { type: strictPart({ name: NAME, nominalAt: NAME }), default: null },
    kept: ENCRYPTED,
    diff: ENCRYPTED,
    waiting: { type: waitingPart(), default: null },
    cancelledBy: { type: actorPart(), default: null },
    createdBy: { type: actorPart(), required: true },
    replayOf: NULLABLE_TEXT,
    redriveOf: NULLABLE_TEXT,
    redrivenAs: NULLABLE_TEXT,
  };
}

const INTERNAL = {
  eventJson: ENCRYPTED,
  queued: TEXT,
  large: TEXT,
  gathers: TEXT,
  unchecked: TEXT,
  untold: TEXT,
  wakeAt: TEXT,
  admitted: TEXT,
  slot0: TEXT,
  slot1: TEXT,
  ticket: TEXT,
  ticketAt: { type: Number },
  ticketUntil: { type: Number },
  failedAdmissions: { type: Number },
  removeAfter: TEXT,
  unsigned: TEXT,
  keyed: TEXT,
  deadLetter: TEXT,
  untoldEnd: TEXT,
  untoldCleanup: TEXT,
};

function waitingPart(): Schema {
  return strictPart({
    sandboxId: NAME,
    since: NULLABLE_TEXT,
    ms: NUMBER,
    asleepAt: NULLABLE_TEXT,
    slot: { type: String, required: true, enum: WAIT_SLOTS },
    failure: { type: strictPart({ code: NAME, message: ENCRYPTED_TEXT }), default: null },
  });
}
