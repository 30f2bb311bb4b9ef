import { z } from '@hono/zod-openapi';
import { CLEANUPS, RUN_OUTCOMES, RUN_STATES, SKIPS, WAITS } from '../../model/functions/run-state.ts';
import { ID_PATTERNS, isRunId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { VERSIONS } from '../../services/runs/replay-run.ts';
import { offset } from '../commands/command-schemas.ts';
import { functionName, functionParams } from '../functions/function-schemas.ts';
import { waitingAnswer } from '../functions/wait-schemas.ts';
import {
  actor,
  cursor,
  failure,
  idempotencyHeaders,
  instant,
  limit,
  problemAnswer,
  wholeText,
} from '../http/schemas.ts';

const runId = z
  .string()
  .refine(isRunId, 'is not a run id')
  .openapi({ pattern: ID_PATTERNS.run, example: 'run-0123456789abcdef' });

export const runParams = z.strictObject({ id: runId.openapi({ param: { name: 'id', in: 'path' } }) });
/** RFC 3339, as the store writes it. */
export const pastInstant = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString());
export const runsQuery = z.strictObject({
  limit,
  cursor,
  function: functionName.optional(),
  state: z.enum(RUN_STATES).optional(),
  outcome: z.enum(RUN_OUTCOMES).optional(),
  key: z
    .string()
    .max(LIMITS.functions.keyBytes)
    .optional()
    .openapi({ description: 'With this value at the key of the first rule that has one: the text itself, or JSON' }),
  since: pastInstant.optional().openapi({ description: 'Accepted then or later' }),
  contents: z.literal('true').optional().openapi({
    description: 'Each with the data of its event and its result, as far as these are JSON or text, and short',
  }),
  deadLetter: z.literal('true').optional().openapi({
    description: 'Only those that ended otherwise than succeeded, cancelled or skipped, and were not redriven',
  }),
});
export const triggerParams = functionParams;
export const triggerQuery = z.strictObject({
  delaySeconds: wholeText(LIMITS.functions.delaySeconds.min, LIMITS.functions.delaySeconds.max)
    .optional()
    .openapi({ description: 'Not started before so many seconds are over' }),
});
export const replayBody = z
  .strictObject({
    version: z
      .enum(VERSIONS)
      .default('same')
      .openapi({ description: 'Of the function: that of the run, or the active one' }),
    event: z.looseObject({}).optional().openapi({
      description:
        "In its place: a CloudEvent as JSON. What it lacks of `specversion`, `id`, `source` and `type` is the run's; its data is what it has itself.",
    }),
  })
  .openapi('ReplayRun');
export const redriveQuery = z.strictObject({
  version: z
    .enum(VERSIONS)
    .default('current')
    .openapi({ description: 'Of the function: the active one, or that of the run' }),
});
export const triggerHeaders = idempotencyHeaders;
export const outputQuery = z.strictObject({
  stream: z.enum(['stdout', 'stderr']).default('stdout'),
  attempt: wholeText(1, LIMITS.functions.maxAttempts.max).optional().openapi({ description: 'The last, unless named' }),
  offset: offset.optional(),
  limit: offset.optional(),
});

const attempt = z.object({
  n: z.int(),
  sandboxId: z.string(),
  commandId: z.string(),
  begunAt: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  outcome: z.enum(RUN_OUTCOMES).nullable(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  failure: failure.nullable(),
  cleanup: z.enum(CLEANUPS).openapi({ description: 'The sandbox has the proof' }),
  secrets: z
    .array(z.object({ name: z.string(), version: z.int() }))
    .openapi({ description: 'Which versions of its secrets it was given' }),
});

const listedContent = z.unknown().openapi({
  description: `JSON, or a text; null: there is none, it is neither, or it has more than ${LIMITS.functions.listedBytes} bytes`,
});

export const runAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    function: z.string(),
    version: z.int(),
    state: z.enum(RUN_STATES),
    cleanup: z.enum(CLEANUPS).openapi({ description: '`proved`: nothing of its machines is left' }),
    waitingFor: z.enum(WAITS).nullable().openapi({ description: 'Why it is no further' }),
    outcome: z.enum(RUN_OUTCOMES).nullable().openapi({ description: 'Written once' }),
    skippedFor: z.enum(SKIPS).nullable().openapi({
      description:
        '`singleton`: others of its key were under way. `superseded`: a newer one took its place. `rate`: it came too soon after others',
    }),
    supersededBy: z.string().nullable().openapi({ description: 'The run that took its place' }),
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    failure: failure.nullable(),
    event: z.object({ id: z.string(), source: z.string(), type: z.string(), time: z.string().nullable() }),
    eventBytes: z.int(),
    events: z
      .array(
        z.object({
          runId: z.string().openapi({ description: 'The run by which it was accepted' }),
          id: z.string(),
          source: z.string(),
          type: z.string(),
          time: z.string().nullable(),
          bytes: z.int(),
        }),
      )
      .openapi({
        description:
          'Of a batch, those that it has; of a debounced run, those that it stands for, with its own; else none',
      }),
    isBatch: z.boolean(),
    batch: z.string().nullable().openapi({ description: 'The run that has its event, together with others' }),
    priority: z.int(),
    attempts: z.array(attempt).openapi({ description: 'Each a sandbox of its own, and at most one started process' }),
    result: z
      .object({
        contentType: z.string(),
        bytes: z.int(),
        digest: z.string(),
        partial: z.boolean().openapi({ description: 'Left by a process that did not succeed' }),
      })
      .nullable(),
    artifacts: z.array(
      z.object({
        path: z.string(),
        bytes: z.int(),
        digest: z.string(),
        note: z
          .string()
          .optional()
          .openapi({ description: 'What of it is not as it was: it changed while it was read' }),
      }),
    ),
    schedule: z
      .object({ name: z.string(), nominalAt: instant })
      .nullable()
      .openapi({ description: 'Which time of which schedule it is of' }),
    kept: z
      .object({
        snapshotId: z.string().nullable(),
        until: instant.nullable().openapi({ description: 'It is deleted then' }),
        goneAt: instant.nullable().openapi({ description: 'When it was deleted, then or before' }),
        failure: failure.nullable().openapi({ description: 'Why there is no snapshot' }),
      })
      .nullable()
      .openapi({ description: 'Of one that failed, the disks of its sandbox, where its function has `keep`' }),
    diff: z
      .object({
        bytes: z.int().nullable(),
        digest: z.string().nullable().openapi({ description: 'SHA-256 of what GET …/diff answers, hex' }),
        counts: z.object({ added: z.int(), changed: z.int(), removed: z.int(), renamed: z.int() }).nullable(),
        failure: failure.nullable().openapi({ description: 'Why it is not known' }),
      })
      .nullable()
      .openapi({ description: 'What its process changed in the file system, where its function has `diff`' }),
    waiting: waitingAnswer,
    createdBy: actor,
    cancelledBy: actor.nullable(),
    replayOf: z.string().nullable().openapi({ description: 'The run whose event it has; its process is told' }),
    redriveOf: z.string().nullable().openapi({ description: 'The dead letter in whose place it is' }),
    redrivenAs: z.string().nullable().openapi({ description: 'Of a dead letter: the run in its place' }),
    acceptedAt: instant,
    dueAt: instant.nullable(),
    expiresAt: instant.openapi({ description: 'When it expires, unless its process is started before' }),
    admittedAt: instant.nullable(),
    startedAt: instant.nullable(),
    endedAt: instant.nullable(),
    updatedAt: instant,
    contents: z
      .object({ input: listedContent, result: listedContent })
      .optional()
      .openapi({ description: 'In a list with `contents=true`' }),
  })
  .openapi('Run');

export const batchAnswer = z
  .object({
    items: z.array(
      z.union([
        z.object({ status: z.int(), runId: z.string(), isNew: z.boolean() }),
        z.object({ status: z.int(), problem: problemAnswer.pick({ code: true, detail: true, errors: true }) }),
      ]),
    ),
  })
  .openapi('AcceptedBatch');
