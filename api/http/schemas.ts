import { z } from '@hono/zod-openapi';
import { ERRORS } from '../../model/errors.ts';
import {
  ID_PATTERNS,
  isCaptureId,
  isSandboxId,
  isSandboxName,
  isSnapshotId,
  SANDBOX_NAME_PATTERNS,
} from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { LAYERS } from '../../model/sandbox/proof.ts';
import { SANDBOX_PHASES, SANDBOX_STATES, SPACE_SUSPENSION_CAUSES } from '../../model/sandbox/sandbox.ts';
import { SCOPES } from '../../model/scopes.ts';

/** Text of the caller's that is kept: neither control characters (also NUL) nor half of a surrogate pair. */
const PRINTABLE = /^[^\p{Cc}\p{Cs}]*$/u;
/** The same for tools that know no classes of Unicode; half a surrogate pair cannot be sent in UTF-8. */
const PLAIN_PRINTABLE = '[^\\u0000-\\u001f\\u007f-\\u009f]*$';
const PRINTABLE_SCHEMA = { pattern: `^${PLAIN_PRINTABLE}` };

export const SOURCE_NAME_PATTERN = `^[A-Za-z0-9]${PLAIN_PRINTABLE}`;

/** Keywords of JSON Schema 2020-12 that the types of @hono/zod-openapi, which are OpenAPI 3.0's, do not know. */
export function keywords(ofJsonSchema: Record<string, unknown>): object {
  return ofJsonSchema;
}

/** @param max characters as JSON Schema counts them: of Unicode, not of UTF-16 */
export function printable(max: number, min = 1) {
  return z
    .string()
    .min(min, `must have at least ${min} character`)
    .refine((text) => text.length <= max || Array.from(text).length <= max, `must have at most ${max} characters`)
    .regex(PRINTABLE, 'must have no control characters and be well-formed Unicode')
    .openapi({ ...PRINTABLE_SCHEMA, maxLength: max });
}

export function whole(limit: { min: number; max: number }, unit: string) {
  const range = `must be a whole number of ${unit} from ${limit.min} to ${limit.max}`;
  return z.int(range).min(limit.min, range).max(limit.max, range);
}

/** Names that mean something to a JavaScript object and can never mean something to a person. */
const NO_METADATA_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const metadata = z
  .unknown()
  .superRefine((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    // zod drops `__proto__` from records without a word, so names are looked at before.
    for (const key of Object.keys(value)) {
      if (NO_METADATA_KEYS.has(key)) context.addIssue({ code: 'custom', message: `may not have the key ${key}` });
    }
  })
  .pipe(
    z
      .record(printable(LIMITS.metadata.maxKeyLength), printable(LIMITS.metadata.maxValueLength, 0))
      .refine((record) => Object.keys(record).length <= LIMITS.metadata.maxEntries, {
        message: `must have at most ${LIMITS.metadata.maxEntries} entries`,
      }),
  )
  .openapi({
    type: 'object',
    maxProperties: LIMITS.metadata.maxEntries,
    ...keywords({
      propertyNames: {
        type: 'string',
        minLength: 1,
        maxLength: LIMITS.metadata.maxKeyLength,
        ...PRINTABLE_SCHEMA,
        not: { enum: [...NO_METADATA_KEYS] },
      },
    }),
    additionalProperties: { type: 'string', maxLength: LIMITS.metadata.maxValueLength, ...PRINTABLE_SCHEMA },
  });

const ttlSeconds = whole(LIMITS.ttlSeconds, 'seconds');
const idleSeconds = whole(LIMITS.idleSeconds, 'seconds');

export const snapshotId = z
  .string()
  .refine(isSnapshotId, 'is not a snapshot id')
  .openapi({ pattern: ID_PATTERNS.snapshot, example: 'snp-0123456789abcdef' });

export const captureId = z
  .string()
  .refine(isCaptureId, 'is not a capture id')
  .openapi({ pattern: ID_PATTERNS.capture, example: 'cap-0123456789abcdef' });

/** Without lookahead, which not every tool has. */
const NAME_SCHEMA = { pattern: SANDBOX_NAME_PATTERNS.is, not: { pattern: SANDBOX_NAME_PATTERNS.isNot } };
const NAME_RULE =
  'must be 1 to 63 of a-z, 0-9 and -, begin with a letter, not end with -, and not begin as an id does (sbx-)';

export const sandboxName = z
  .string()
  .refine(isSandboxName, NAME_RULE)
  .openapi({ ...NAME_SCHEMA, maxLength: 63, example: 'web' });

/** An id, or a name. */
export const SANDBOX_REFERENCE = [{ pattern: ID_PATTERNS.sandbox }, NAME_SCHEMA];

/** How a request says which sandbox it means. */
export const sandboxReference = z
  .string()
  .refine((text) => isSandboxId(text) || isSandboxName(text), 'is neither the id nor the name of a sandbox')
  .openapi({
    anyOf: SANDBOX_REFERENCE,
    description: 'The id, or the name of one that lives; what is repeated by itself should use the id',
    example: 'sbx-0123456789abcdef',
  });

export const createSandbox = z
  .strictObject({
    name: sandboxName.optional(),
    source: printable(LIMITS.sourceName.maxLength)
      .regex(/^[A-Za-z0-9]/, 'must begin with a letter or digit')
      .openapi({ pattern: SOURCE_NAME_PATTERN })
      .optional(),
    snapshotId: snapshotId.optional(),
    captureId: captureId.optional(),
    count: whole(LIMITS.fork.count, 'sandboxes').optional(),
    cpus: whole(LIMITS.cpus, 'virtual CPUs').optional(),
    memoryMib: whole(LIMITS.memoryMib, 'MiB').optional(),
    ttlSeconds: ttlSeconds.optional(),
    idleSeconds: idleSeconds.optional(),
    autoResume: z.boolean().optional(),
    metadata: metadata.optional(),
    agentId: printable(LIMITS.agentId.maxLength).optional(),
    network: z.strictObject({ egress: z.enum(['none', 'internet']) }).optional(),
  })
  .superRefine(({ name, source, snapshotId: snapshot, captureId: capture, count }, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (source === undefined && snapshot === undefined) refuse('source', 'is missing, and so is snapshotId: give one');
    if (source !== undefined && snapshot !== undefined) refuse('snapshotId', 'may not be given together with source');
    if (capture !== undefined && source === undefined) refuse('captureId', 'may only be given together with source');
    if (count !== undefined && snapshot === undefined) refuse('count', 'may only be given together with snapshotId');
    if (count !== undefined && name !== undefined) refuse('name', 'may not be given together with count');
  })
  .openapi('CreateSandbox', {
    oneOf: [{ required: ['source'] }, { required: ['snapshotId'] }],
    ...keywords({
      dependentRequired: { captureId: ['source'], count: ['snapshotId'] },
      dependentSchemas: { count: { properties: { name: { not: {} } } } },
    }),
    description:
      'From a source (one that runs: from its newest capture, or `captureId`) or, with `snapshotId`, from a snapshot (a fork). With `count` so many are made, and the answer is a list. `name`: of no other that lives; it stands for the id wherever that is asked for, and is free again when the sandbox has ended.',
  });

export const patchSandbox = z
  .strictObject({
    ttlSeconds: ttlSeconds.optional(),
    idleSeconds: idleSeconds.nullable().optional(),
    autoResume: z.boolean().optional(),
    metadata: metadata.optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, { message: 'must change something' })
  .openapi('PatchSandbox', { minProperties: 1 });

const quotaBytes = z
  .number()
  .int()
  .min(LIMITS.quotaBytes.min)
  .max(LIMITS.quotaBytes.max)
  .nullable()
  .openapi({ description: 'Bytes; null: no limit' });
const quotaFields = { diskBytes: quotaBytes.optional(), sandboxDiskBytes: quotaBytes.optional() };

export const createKey = z
  .strictObject({
    name: printable(128),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
    ...quotaFields,
  })
  .openapi('CreateKey');

export const limitKey = z
  .strictObject(quotaFields)
  .refine((quota) => Object.keys(quota).length > 0, { message: 'must change something' })
  .openapi('LimitKey', { minProperties: 1 });

export const sandboxParams = z.strictObject({
  id: sandboxReference.openapi({ param: { name: 'id', in: 'path' } }),
});

export const wholeText = (min: number, max: number) => {
  const range = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, range)
    .transform(Number)
    .pipe(z.number().min(min, range).max(max, range))
    .openapi({ type: 'integer', minimum: min, maximum: max });
};

export const limit = wholeText(1, LIMITS.page.max).optional();

/** Whether it is one of this list's is known when it is read. */
export const cursor = z
  .string()
  .max(256)
  .optional()
  .openapi({ pattern: '^[A-Za-z0-9_-]+$', description: 'A `nextCursor` of an earlier answer; opaque' });

export const noQuery = z.strictObject({});
export const listQuery = z.strictObject({
  limit,
  cursor,
  state: z.enum(SANDBOX_STATES).optional(),
  alive: z.enum(['true']).optional().openapi({ description: 'Only those that have not ended' }),
  name: sandboxName.optional().openapi({ description: 'Only the one that lives and has this name' }),
});
export const auditQuery = z.strictObject({ limit, cursor: wholeText(0, 999_999_999).optional() });

export const preferHeaders = z.object({ prefer: z.string().max(1_024).optional().openapi({ example: 'wait=60' }) });

export const idempotencyHeaders = preferHeaders.extend({
  'idempotency-key': printable(LIMITS.idempotencyKey.maxLength).optional(),
});
/** Of what is answered when it is done: nobody prefers to wait otherwise. */
export const keyHeaders = idempotencyHeaders.omit({ prefer: true });
export type IdempotencyHeaders = z.output<typeof idempotencyHeaders>;

export const instant = z.string().openapi({ format: 'date-time' });
export const actor = z.object({ apiKeyId: z.string(), agentId: z.string().nullable() });

export const sandboxAnswer = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    state: z.enum(SANDBOX_STATES),
    phase: z.enum(SANDBOX_PHASES).nullable(),
    spec: z.object({
      source: z.string(),
      snapshotId: z.string().nullable(),
      captureId: z.string().nullable(),
      cpus: z.int().nullable(),
      memoryMib: z.int().nullable(),
      ttlSeconds: z.int(),
      idleSeconds: z.int().nullable(),
      autoResume: z.boolean(),
      metadata: z.record(z.string(), z.string()),
      agentId: z.string().nullable(),
      network: z.object({ egress: z.enum(['none', 'internet']) }),
    }),
    createdBy: actor,
    hostId: z.string().nullable(),
    parentSnapshotId: z.string().nullable(),
    ssh: z.object({ address: z.string(), port: z.int(), user: z.string(), hostKey: z.string() }).nullable(),
    macAddress: z.string().nullable(),
    createdAt: instant,
    updatedAt: instant,
    runningAt: instant.nullable(),
    expiresAt: instant,
    stopReason: z.enum(['deleted', 'ttl', 'idle', 'create-failed']).nullable(),
    failure: z.object({ code: z.string(), step: z.string(), message: z.string() }).nullable(),
    stalledBy: z.enum(SPACE_SUSPENSION_CAUSES).nullable(),
    waitingFor: z.string().nullable(),
    proof: z
      .object({
        sandboxId: z.string(),
        hostId: z.string().nullable(),
        observations: z.array(
          z.object({
            layer: z.enum(LAYERS),
            lookedAt: z.string(),
            absent: z.boolean(),
            found: z.string().optional(),
            at: instant,
          }),
        ),
        provedAt: instant,
      })
      .nullable(),
    steps: z.array(z.object({ step: z.string(), startedAt: instant, endedAt: instant })),
  })
  .openapi('Sandbox');

const codes = Object.keys(ERRORS) as [keyof typeof ERRORS, ...(keyof typeof ERRORS)[]];

export const problemAnswer = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.enum(codes),
    retryable: z.boolean(),
    remedy: z.string(),
    requestId: z.string(),
    errors: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
    sandboxId: z.string().optional(),
    commandId: z.string().optional(),
    snapshotId: z.string().optional(),
    captureId: z.string().optional(),
  })
  .openapi('Problem');

export const forksAnswer = z
  .object({ items: z.array(z.union([z.object({ sandbox: sandboxAnswer }), z.object({ problem: problemAnswer })])) })
  .openapi('Forks', { description: 'One item for each sandbox that was asked for: it, or why there is none.' });

export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() });
}

export function json<T extends z.ZodType>(description: string, schema: T) {
  return { description, content: { 'application/json': { schema } } };
}
