import { z } from 'zod';
import { actor, egress, encryptedField, instant, optional } from '../fields.ts';
import { secretUse } from '../secrets/secret.ts';
import { waitSpec } from '../waitpoints/waiting.ts';

const key = z
  .string()
  .nullable()
  .describe('JSON Pointer (RFC 6901) into the data of an event; null: all count together');

/** Limit of concurrent runs of a function: of all, or of those with the same value at `key` in their events' data. */
export const concurrencyRule = z.object({
  limit: z.int(),
  key,
  onFull: z
    .enum(['queue', 'skip', 'cancel-running'])
    .describe(
      'Of a run that finds its concurrency used up: it waits, it ends as `skipped`, or older ones make room for it: those that wait end as `skipped`, and those under way are cancelled',
    ),
});
export type ConcurrencyRule = z.infer<typeof concurrencyRule>;

/**
 * Rate limit of a function's runs, in all or per value at `key`: one run per `periodSeconds` / `limit`, with a burst of
 * `burst` after enough idle time (GCRA). So at most `limit` + `burst` - 1 in any period.
 */
export const throttleRule = z.object({
  limit: z.int(),
  periodSeconds: z.int(),
  burst: z.int(),
  key,
  onFull: z
    .enum(['queue', 'skip'])
    .describe('Of a run that comes too soon after others: it waits, or it ends as `skipped`'),
});
export type ThrottleRule = z.infer<typeof throttleRule>;

/**
 * Debounce of a key's events, until none arrives for `periodSeconds` or the first has waited `maxWaitSeconds`; then the
 * newest by its time runs for all of them.
 */
const debounce = z.object({ periodSeconds: z.int(), maxWaitSeconds: z.int(), key });

/**
 * Batch of a key's events, until it has `maxSize` or the first has waited `maxWaitSeconds`; then one run gets all of
 * them.
 */
const batching = z.object({ maxSize: z.int(), maxWaitSeconds: z.int(), key });

/** Policy for retries of started attempts; only for functions that are declared idempotent. */
export const retryPolicy = z.object({
  maxAttempts: z.int().describe('The first among them'),
  on: z.array(z.enum(['failed', 'timed-out', 'unknown'])).describe('Outcomes after which another attempt may be made'),
  exitCodes: z.array(z.int()).nullable().describe('Only after these; null: after any'),
  backoff: z.object({ initialSeconds: z.number(), factor: z.number(), maxSeconds: z.number(), jitter: z.boolean() }),
});
export type RetryPolicy = z.infer<typeof retryPolicy>;

export const setupSpec = z.object({
  source: z.string(),
  script: z.string().describe("Run by the shell of the function's user, where the function's files are"),
  timeoutSeconds: z.int(),
});

export const functionSpec = z.object({
  source: z.string().nullable(),
  snapshotId: z.string().nullable(),
  setup: optional(setupSpec).describe('Absent: it has none'),
  filesDigest: z.string().nullable().describe('SHA-256 of its files, a tar archive, hex; null: it has none'),
  command: z.string().nullable().describe("Run by the user's login shell exactly as written"),
  argv: z.array(z.string()).nullable(),
  user: z.string().nullable().describe('Of the guest; null: the login user'),
  env: z.record(z.string(), z.string()),
  secrets: z.array(secretUse).describe('Their values are kept apart, and each attempt is given those that hold then'),
  input: z.object({
    schema: z.unknown().describe('JSON Schema 2020-12 of the data; null: anything'),
    maxBytes: z.int(),
  }),
  timeoutSeconds: z.int(),
  graceSeconds: z.int().describe('From SIGTERM to SIGKILL, when its process is ended'),
  maxEventAgeSeconds: z.int().describe('A run that was not started by then is not started any more'),
  retry: retryPolicy,
  idempotent: z.boolean().describe('Whether its process may be started again for the same event'),
  concurrency: z.array(concurrencyRule),
  throttle: throttleRule.nullable().describe('Null: they begin as soon as its concurrency lets them'),
  debounce: debounce.nullable().describe('Not together with `batch`; null: each event runs by itself'),
  batch: batching.nullable(),
  lateBinding: z
    .boolean()
    .describe('Whether a run is of the version that is active when it is admitted, not when its event was accepted'),
  priority: z
    .int()
    .describe('0 … 9: a run is ahead of those that were accepted up to so many minutes before it, within its key'),
  network: z.object({ egress }),
  cpus: z.int().nullable(),
  memoryMib: z.int().nullable(),
  result: z.object({ maxBytes: z.int() }),
  artifacts: z.object({ globs: z.array(z.string()), maxBytes: z.int() }),
  logBytes: z.int().describe('Of each stream'),
  destinations: z
    .object({ onSuccess: z.string().nullable(), onFailure: z.string().nullable() })
    .describe('Webhook endpoints that are told of the end of its runs, whatever types they ask for'),
  retentionDays: z.int(),
  keep: optional(z.object({ onFailure: z.literal('disk'), days: z.int() })).describe(
    'What a run that failed leaves of its sandbox, and for how long. Absent: nothing',
  ),
  diff: optional(z.literal(true)).describe('Changes of its process in the file system are told. Absent: they are not'),
  wait: optional(waitSpec).describe('Treatment of a run whose process waits'),
});
/**
 * Specification of a function; the API fills in defaults. Exactly one of `source`, `snapshotId` and `setup` is set, and
 * one of `command` and `argv`.
 */
export type FunctionSpec = z.infer<typeof functionSpec>;

export const functionRecord = z.object({
  project: z.string(),
  name: z.string(),
  state: z
    .enum(['active', 'paused', 'draining'])
    .describe(
      '`paused`: events are accepted, and none is started. `draining`: none is accepted, and it goes when its runs have ended',
    ),
  activeVersion: z.int().describe('The version that events are accepted for'),
  fullUntil: instant.nullable().describe('Until then none of its runs is admitted: there was no room'),
  createdBy: actor,
  createdAt: instant,
  updatedAt: instant,
});
export type FunctionRecord = z.infer<typeof functionRecord>;

/** Immutable deployed version of a function. */
export const functionVersion = z.object({
  project: z.string(),
  function: z.string(),
  version: z.int(),
  digest: z.string().describe('SHA-256 of `spec` in canonical JSON, hex: the same content is the same version'),
  spec: encryptedField(functionSpec),
  createdBy: actor,
  createdAt: instant,
});
export type FunctionVersion = z.infer<typeof functionVersion>;

const FUNCTION_NAME = /^[a-z][a-z0-9-]{0,62}$/;
export const FUNCTION_NAME_PATTERN = FUNCTION_NAME.source;

export function isFunctionName(text: string): boolean {
  return FUNCTION_NAME.test(text);
}
