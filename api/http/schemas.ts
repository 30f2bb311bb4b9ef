import { z } from '@hono/zod-openapi';
import { ERRORS } from '../../model/errors.ts';
import { ID_PATTERNS, isCaptureId, isEndpointId, isHostId, isSnapshotId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { strip } from '../schema/strip.ts';

const { command } = LIMITS;

/** Text of the caller's that is kept: neither control characters (also NUL) nor half of a surrogate pair. */
const PRINTABLE = /^[^\p{Cc}\p{Cs}]*$/u;
/** The same for tools that know no classes of Unicode; half a surrogate pair cannot be sent in UTF-8. */
const PLAIN_PRINTABLE = '[^\\u0000-\\u001f\\u007f-\\u009f]*$';
export const PRINTABLE_SCHEMA = { pattern: `^${PLAIN_PRINTABLE}` };

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

export const sourceName = printable(LIMITS.sourceName.maxLength)
  .regex(/^[A-Za-z0-9]/, 'must begin with a letter or digit')
  .openapi({ pattern: `^[A-Za-z0-9]${PLAIN_PRINTABLE}` });

/** Text that UTF-8 can hold. */
export const wellFormed = z.string().refine((text) => !/\p{Cs}/u.test(text), 'must be well-formed Unicode');

/** What a program is given: any such text but NUL, which ends an argument in C. */
export function passed(maxBytes: number) {
  return wellFormed
    .refine((text) => !text.includes('\0'), 'must have no NUL character')
    .refine((text) => Buffer.byteLength(text) <= maxBytes, `must have at most ${maxBytes} bytes`)
    .openapi({ pattern: '^[^\\u0000]*$', maxLength: maxBytes });
}

const bytesOf = (texts: string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

export const argv = z
  .array(passed(command.maxLength))
  .min(1, 'must name a program')
  .max(command.maxArguments, `must have at most ${command.maxArguments} entries`)
  .refine(([program]) => program !== '', 'must name a program')
  .refine((texts) => bytesOf(texts) <= command.maxLength, `must have at most ${command.maxLength} bytes in all`)
  .openapi(keywords({ prefixItems: [{ type: 'string', minLength: 1, pattern: '^[^\\u0000]+$' }] }));

export const variableName = z
  .string()
  .max(255)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable');

export const VARIABLES_FIT = `must have at most ${command.maxVariableBytes} bytes in each, with its name and =`;

/** Whether each variable is a string that Linux passes to a program. */
export function variablesFit(variables: Readonly<Record<string, string>>): boolean {
  return Object.entries(variables).every(
    ([name, value]) => name.length + 1 + Buffer.byteLength(value) <= command.maxVariableBytes,
  );
}

export function whole(limit: { min: number; max: number }, unit: string) {
  const range = `must be a whole number of ${unit} from ${limit.min} to ${limit.max}`;
  return z.int(range).min(limit.min, range).max(limit.max, range);
}

export const hostId = z.string().refine(isHostId, 'is not a host id').openapi({ pattern: ID_PATTERNS.host });

export const snapshotId = z
  .string()
  .refine(isSnapshotId, 'is not a snapshot id')
  .openapi({ pattern: ID_PATTERNS.snapshot, example: 'snp-0123456789abcdef' });

export const captureId = z
  .string()
  .refine(isCaptureId, 'is not a capture id')
  .openapi({ pattern: ID_PATTERNS.capture, example: 'cap-0123456789abcdef' });

export const endpointId = z
  .string()
  .refine(isEndpointId, 'is not the id of a webhook endpoint')
  .openapi({ pattern: ID_PATTERNS.endpoint, example: 'whe-0123456789abcdef' });

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
export const auditQuery = z.strictObject({ limit, cursor: wholeText(0, 999_999_999).optional() });

export const preferHeaders = z.object({ prefer: z.string().max(1_024).optional().openapi({ example: 'wait=60' }) });

export const idempotencyHeaders = preferHeaders.extend({
  'idempotency-key': printable(LIMITS.idempotencyKey.maxLength).optional(),
});
/** Of what is answered when it is done: nobody prefers to wait otherwise. */
export const keyHeaders = idempotencyHeaders.omit({ prefer: true });
export type IdempotencyHeaders = z.output<typeof idempotencyHeaders>;

export const instant = z.string().openapi({ format: 'date-time' });
export const egress = z.enum(['none', 'internet']);
export const failure = z.object({ code: z.string(), message: z.string() });
/** Failure of a saga. */
export const stepFailure = z.object({ code: z.string(), step: z.string(), message: z.string() });
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
