import { z } from 'zod';
import { encryptedField, instant, optional } from '../../model/fields.ts';
import { type RunRecord, runRecord } from '../../model/functions/run.ts';
import { isRunId } from '../../model/ids.ts';
import type { StoredBytes } from '../mongo/bytes.ts';
import { type DocumentOf, repositoryOf } from '../repository/repository.ts';

const place = optional(z.string());

/** Position of a run in the queue of its function: see run-queue.ts. */
const queueFields = z.object({
  queued: place.describe('While it is queued, and while one whose machine is hibernated waits for slots'),
  large: place.describe('Of which project, while it waits and its event is kept by itself'),
  gathers: place.describe('Only while it gathers with others: see gathered-runs.ts'),
  unchecked: place.describe('While its event is to be checked by the schema of its function: see unchecked-runs.ts'),
  untold: optional(z.literal('members')).describe(
    'Of a batch: what became of it is to be written to the runs of its events',
  ),
  wakeAt: optional(instant).describe(
    'When something is to be done with it, whatever becomes of others: before its admission, and while its cancel is to be told',
  ),
  admitted: optional(z.enum(['not-begun', 'begun'])).describe(
    'From its admission until nothing of it is left: whether its workflow has begun',
  ),
  unsigned: optional(instant).describe('From when nothing of it is left until its receipt is signed: since when'),
  slot0: place.describe('The slots that it holds, of its concurrency rules in their order, as long as it is admitted'),
  slot1: place,
  ticket: place.describe('The last that it took of its throttle, and what that is: see run-tickets.ts'),
  ticketAt: optional(z.number()).describe('Milliseconds since 1970'),
  ticketUntil: optional(z.number()).describe('Milliseconds since 1970'),
  failedAdmissions: optional(z.int()).describe('How often it could not be admitted, for another reason than room'),
});
export type QueueFields = z.infer<typeof queueFields>;

const internal = queueFields.extend({
  eventJson: encryptedField(z.custom<StoredBytes>())
    .nullable()
    .describe('The event in the JSON format of CloudEvents; null: it is large, and kept by itself'),
  removeAfter: optional(instant).describe('When it may be removed; set with its end'),
  keyed: optional(z.string()).describe('Digest of the value of its first concurrency key; absent: there is none'),
  deadLetter: optional(z.literal('yes')).describe('Only while it is a dead letter'),
  untoldEnd: optional(instant).describe('When it ended, as long as nobody was told (store/webhooks/)'),
  untoldCleanup: optional(instant).describe('When its cleanup was known, as long as nobody was told'),
});
export type RunDocument = DocumentOf<RunRecord> & z.infer<typeof internal>;

/** Base class of the repositories of runs, each with queries of its own. */
export abstract class RunRepository extends repositoryOf({
  collection: 'runs',
  noun: 'a run',
  isId: isRunId,
  model: runRecord,
  internal: internal.shape,
}) {}
