import { z } from '@hono/zod-openapi';
import { ERRORS } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { printable } from '../../model/request-fields.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { strip } from '../schema/strip.ts';

/** Keywords of JSON Schema 2020-12 that the types of @hono/zod-openapi, which are OpenAPI 3.0's, do not know. */
export function keywords(ofJsonSchema: Record<string, unknown>): object {
  return ofJsonSchema;
}

export const wholeText = (min: number, max: number) => {
  const range = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, range)
    .transform(Number)
    .pipe(z.number().min(min, range).max(max, range))
    .openapi({ type: 'integer', minimum: min, maximum: max });
};

export const limit = wholeText(1, LIMITS.page.max).prefault(String(LIMITS.page.default));

/** Whether it is one of this list's is known when it is read. */
export const cursor = z
  .string()
  .max(256)
  .optional()
  .openapi({ pattern: '^[A-Za-z0-9_-]+$', description: 'A `nextCursor` of an earlier answer; opaque' });

export const pageQuery = z.strictObject({ limit, cursor });
export const noQuery = z.strictObject({});
/** A cursor of a chain is the number of its next entry. */
export const auditQuery = z.strictObject({ limit, cursor: z.string().regex(/^\d{1,9}$/).optional() });

export const preferHeaders = z.object({ prefer: z.string().max(1_024).optional().openapi({ example: 'wait=60' }) });

export const idempotencyHeaders = preferHeaders.extend({
  'idempotency-key': printable(LIMITS.idempotencyKey.maxLength).optional(),
});
/** Of what is answered when it is done: nobody prefers to wait otherwise. */
export const keyHeaders = idempotencyHeaders.omit({ prefer: true });

export const instant = z.string().openapi({ format: 'date-time' });
export const failure = z.object({ code: z.string(), message: z.string() });
export const actor = z.object({
  apiKeyId: z.string(),
  agentId: z.string().nullable(),
  project: z.string().openapi({ description: 'Of the key' }),
  approvalId: z.string().optional().openapi({ description: 'By which approval, where one was needed' }),
});

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

const unreadable = z
  .array(
    z.object({ id: z.string(), problem: z.string().openapi({ description: 'Names the document and its collection' }) }),
  )
  .optional()
  .openapi({ description: 'Records that belong here and cannot be read; absent: all can' });

/** A list without pages. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), unreadable });
}

export function answerList<T>(items: T[], unreadable: Unreadable[]) {
  return { items, ...(unreadable.length > 0 && { unreadable }) };
}

export function pageOf<T extends z.ZodType>(item: T) {
  return listOf(item).extend({ nextCursor: z.string().nullable() });
}

/** Makes a function that strips a record to what an answer has of it. */
export function viewOf<T extends z.ZodType>(answer: T) {
  return (record: z.input<T>): z.output<T> => strip(answer, record);
}

export function json<T extends z.ZodType>(description: string, schema: T) {
  return { description, content: { 'application/json': { schema } } };
}
