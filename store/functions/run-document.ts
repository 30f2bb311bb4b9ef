import type { Connection } from 'mongoose';
import { type RunRecord, runRecord } from '../../model/functions/run.ts';
import { isRunId } from '../../model/ids.ts';
import type { StoredBytes } from '../mongo/bytes.ts';
import { ENCRYPTED, TEXT } from '../mongo/schema.ts';
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
    const definition = { collection: 'runs', noun: 'a run', isId: isRunId, model: runRecord, internal: INTERNAL };
    super(connection, sealing, definition);
  }
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
