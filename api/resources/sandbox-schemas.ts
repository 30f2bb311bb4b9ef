import { z } from '@hono/zod-openapi';
import { egress } from '../../model/fields.ts';
import { ID_PATTERNS, isSandboxName, SANDBOX_NAME_PATTERNS } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { redactText } from '../../model/redaction/redact.ts';
import {
  captureId,
  intInRange,
  PRINTABLE_SCHEMA,
  printable,
  snapshotId,
  sourceName,
} from '../../model/request-fields.ts';
import {
  idleAction,
  requestedBoot,
  type SandboxRecord,
  sandboxRecord,
  sandboxSpec,
} from '../../model/sandbox/sandbox.ts';
import { SANDBOX_STATES } from '../../model/sandbox/sandbox-state.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { cursor, limit, openapiExtras, problemAnswer } from '../http/schemas.ts';
import { strip } from '../schema/strip.ts';

/** Property names with a meaning in JavaScript objects, useless as metadata. */
const NO_METADATA_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const metadata = z
  .unknown()
  .superRefine((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    // zod silently drops `__proto__` from records, so names are checked first.
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
    ...openapiExtras({
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

const ttlSeconds = intInRange(LIMITS.ttlSeconds, 'seconds');
const idleSeconds = intInRange(LIMITS.idleSeconds, 'seconds');

/** JSON Schema of names, without lookahead, which some tools lack. */
const NAME_SCHEMA = { pattern: SANDBOX_NAME_PATTERNS.is, not: { pattern: SANDBOX_NAME_PATTERNS.isNot } };
const NAME_RULE =
  'must be 1 to 63 of a-z, 0-9 and -, begin with a letter, not end with -, and not begin as an id does (sbx-)';

const sandboxName = z
  .string()
  .refine(isSandboxName, NAME_RULE)
  .openapi({ ...NAME_SCHEMA, maxLength: 63, example: 'web' });

/** Schemas of an id and a name. */
export const SANDBOX_REFERENCE = [{ pattern: ID_PATTERNS.sandbox }, NAME_SCHEMA];

/** Reference to a sandbox in a request. */
const sandboxReference = z
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
    source: sourceName.optional(),
    snapshotId: snapshotId.optional(),
    captureId: captureId.optional(),
    count: intInRange(LIMITS.fork.count, 'sandboxes').optional(),
    cpus: intInRange(LIMITS.cpus, 'virtual CPUs').optional(),
    memoryMib: intInRange(LIMITS.memoryMib, 'MiB').optional(),
    ttlSeconds: ttlSeconds.optional(),
    idleSeconds: idleSeconds.optional(),
    onIdle: idleAction.optional(),
    autoResume: z.boolean().optional(),
    metadata: metadata.optional(),
    agentId: printable(LIMITS.agentId.maxLength)
      .refine((id) => redactText(id) === id, 'looks like a secret, and would be in every log')
      .optional(),
    network: z.strictObject({ egress }).optional(),
    boot: requestedBoot.optional(),
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
    ...openapiExtras({
      dependentRequired: { captureId: ['source'], count: ['snapshotId'] },
      dependentSchemas: { count: { properties: { name: { not: {} } } } },
    }),
    description:
      'From a source (one that runs: from its newest capture, or `captureId`) or, with `snapshotId`, from a snapshot (a fork). With `count` so many are made, and the answer is a list. `name`: of no other of the project that lives; it stands for the id wherever that is asked for, and is free again when the sandbox has ended. `network`: a fork has that of its snapshot unless it asks for another, else `none`; the answer says which, in `spec`. `onIdle`: after `idleSeconds` without use it is destroyed (the default), or hibernated; one that cannot be is tried again as late. `boot`: the quickest way there is (`auto`, the default), never from a template (`cold`), or from one alone (`template`, refused where none is ready).',
  });

export const patchSandbox = z
  .strictObject({
    ttlSeconds: ttlSeconds.optional(),
    idleSeconds: idleSeconds.nullable().optional(),
    onIdle: idleAction.optional(),
    autoResume: z.boolean().optional(),
    metadata: metadata.optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, { message: 'must change something' })
  .openapi('PatchSandbox', { minProperties: 1 });

export const sandboxParams = z.strictObject({
  id: sandboxReference,
});

export const sandboxAnswer = sandboxRecord
  .omit({ installationId: true, size: true, builds: true, pool: true, askedHosts: true, restoreId: true })
  .extend({
    spec: sandboxSpec.required().extend({ network: z.object({ egress }) }),
    boot: sandboxRecord.shape.boot.unwrap(),
    auditFault: sandboxRecord.shape.auditFault.unwrap(),
  })
  .openapi('Sandbox');

export const forksAnswer = z
  .object({ items: z.array(z.union([z.object({ sandbox: sandboxAnswer }), z.object({ problem: problemAnswer })])) })
  .openapi('Forks', { description: 'One item for each sandbox that was asked for: it, or why there is none.' });

export const listQuery = z.strictObject({
  limit,
  cursor,
  state: z.enum(SANDBOX_STATES).optional(),
  alive: z.enum(['true']).optional().openapi({ description: 'Only those that have not ended' }),
  name: sandboxName.optional().openapi({ description: 'Only the one that lives and has this name' }),
  project: z
    .string()
    .max(63)
    .optional()
    .openapi({ description: 'Only those of it; only operators see those of others' }),
});

export type SandboxView = z.infer<typeof sandboxAnswer>;

/** Strips a record, so that fields added later, such as a path on a host, do not leak. */
export function sandboxView(record: SandboxRecord): SandboxView {
  const { spec, size, boot = null, auditFault = null } = record;
  const { onIdle = 'destroy', captureId = null, boot: way = 'auto' } = spec;
  // Default: the size of the source.
  const cpus = spec.cpus ?? size?.cpus ?? null;
  const memoryMib = spec.memoryMib ?? size?.memoryMib ?? null;
  const asked = { ...spec, captureId, cpus, memoryMib, onIdle, boot: way };
  return strip(sandboxAnswer, { ...record, spec: asked, boot, auditFault });
}
