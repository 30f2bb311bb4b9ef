import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { isMayflyError } from '../../model/errors.ts';
import { functionName } from '../../model/functions/deploy-request.ts';
import { type RunRecord, runRecord } from '../../model/functions/run.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../model/functions/run-state.ts';
import { LIMITS } from '../../model/limits.ts';
import { idSchema } from '../../model/request-fields.ts';
import { type RunWaiting, runWaiting } from '../../model/waitpoints/waiting.ts';
import { VERSIONS } from '../../services/runs/replay-run.ts';
import type { StoredContent } from '../../services/runs/run-content.ts';
import { type Awaited, isOver, type RunWatch } from '../../services/runs/run-watch.ts';
import { waitWithin } from '../../services/waiting.ts';
import { offset } from '../commands/command-schemas.ts';
import { functionParams } from '../functions/function-schemas.ts';
import { type Env, type RequestDeps, waitLimit } from '../http/context.ts';
import { cursor, idempotencyHeaders, intParam, limit, problemAnswer } from '../http/schemas.ts';
import { strip } from '../schema/strip.ts';

/** View of a run's wait. */
const waitingAnswer = runWaiting
  .pick({ since: true, slot: true, failure: true })
  .extend({ hibernatedAt: runWaiting.shape.asleepAt })
  .nullable()
  .openapi({ description: 'How its process waits for waitpoints; null: it has not waited' });

const runId = idSchema('run');

export const runParams = z.strictObject({ id: runId });
/** RFC 3339, in the store's format. */
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
  delaySeconds: intParam(LIMITS.functions.delaySeconds.min, LIMITS.functions.delaySeconds.max)
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
  attempt: intParam(1, LIMITS.functions.maxAttempts.max).optional().openapi({ description: 'The last, unless named' }),
  offset: offset.optional(),
  limit: offset.optional(),
});

const listedContent = z.unknown().openapi({
  description: `JSON, or a text; null: there is none, it is neither, or it has more than ${LIMITS.functions.listedBytes} bytes`,
});

export const runAnswer = runRecord
  .omit({
    versionDigest: true,
    eventDigest: true,
    keys: true,
    throttleKey: true,
    lane: true,
    gathering: true,
    gatheringKey: true,
    lateBinding: true,
    dedupe: true,
    epoch: true,
    dedupeUntil: true,
    seq: true,
    retentionDays: true,
    tries: true,
    member: true,
    members: true,
    failedStarts: true,
  })
  .extend({
    schedule: runRecord.shape.schedule.unwrap(),
    kept: runRecord.shape.kept.unwrap(),
    diff: runRecord.shape.diff.unwrap(),
    waiting: waitingAnswer,
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

export function runView(run: RunRecord): z.infer<typeof runAnswer> {
  const { schedule = null, kept = null, diff = null, waiting = null } = run;
  return strip(runAnswer, { ...run, schedule, kept, diff, waiting: waiting && waitingView(waiting, run) });
}

function waitingView({ since, asleepAt, slot, failure }: RunWaiting, { state }: RunRecord) {
  return { since, hibernatedAt: state === 'ended' ? null : asleepAt, slot, failure };
}

/** Headers that keep browsers from rendering a process's output as a page of the API's origin. */
export const SAFE = {
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'private, no-cache',
};

/** Streams stored content of a run. @param partial true when its process did not succeed */
export function answerContent(c: Context<Env>, { contentType, bytes, digest, body }: StoredContent, partial?: boolean) {
  if (partial !== undefined) c.header('Mayfly-Partial', String(partial));
  const length = { 'Content-Length': String(bytes), ETag: `"${digest}"` };
  return c.body(body, 200, { ...SAFE, ...length, 'Content-Type': contentType });
}

/** Condition and limit, s, of a wait for runs. */
interface EndWait {
  watch: RunWatch;
  until: Awaited;
  seconds: number;
}

/**
 * Returns the run at its end, or at the end of the wait. While the store is unavailable, returns the run as accepted:
 * an error would make the caller send it again.
 */
export async function endOfRun(
  c: Context<Env>,
  deps: RequestDeps,
  run: RunRecord,
  { watch, until, seconds }: EndWait,
): Promise<RunRecord> {
  if (seconds === 0 || isOver(run, until)) return run;
  await waitWithin(deps, waitLimit(c, seconds), (signal) => watch.until(run.id, until, signal));
  try {
    return (await deps.store.runs.get(run.id)) ?? run;
  } catch (error) {
    if (!isMayflyError(error, 'store_unavailable')) throw error;
    deps.logger.warn({ err: error, requestId: c.get('requestId') }, 'stopped waiting for a run');
    return run;
  }
}
