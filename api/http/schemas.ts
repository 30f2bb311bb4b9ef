import { z } from '@hono/zod-openapi';
import { ERRORS, type ErrorCode } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { printable } from '../../model/request-fields.ts';
import { MACHINE_END_CODES } from '../../model/sandbox/machine-end.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { strip } from '../schema/strip.ts';

/** Adds keywords of JSON Schema 2020-12 that the types of @hono/zod-openapi, those of OpenAPI 3.0, lack. */
export function openapiExtras(ofJsonSchema: Record<string, unknown>): object {
  return ofJsonSchema;
}

export const intParam = (min: number, max: number) => {
  const range = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, range)
    .transform(Number)
    .pipe(z.number().min(min, range).max(max, range))
    .openapi({ type: 'integer', minimum: min, maximum: max });
};

export const limit = intParam(1, LIMITS.page.max).prefault(String(LIMITS.page.default));

/** Cursor; the read itself checks that it fits the list. */
export const cursor = z
  .string()
  .max(256)
  .optional()
  .openapi({ pattern: '^[A-Za-z0-9_-]+$', description: 'A `nextCursor` of an earlier answer; opaque' });

export const pageQuery = z.strictObject({ limit, cursor });
export const noQuery = z.strictObject({});
/** Query of an audit chain; its cursor is the number of the next entry. */
export const auditQuery = z.strictObject({
  limit,
  cursor: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
});

export const preferHeaders = z.object({ prefer: z.string().max(1_024).optional().openapi({ example: 'wait=60' }) });

export const idempotencyHeaders = preferHeaders.extend({
  'idempotency-key': printable(LIMITS.idempotencyKey.maxLength).optional(),
});
/** Headers of operations that answer when done, without `Prefer`. */
export const keyHeaders = idempotencyHeaders.omit({ prefer: true });

export const instant = z.string().openapi({ format: 'date-time' });
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

/** Returns the schema of a list without pages. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), unreadable });
}

export function answerList<T>(items: T[], unreadable: Unreadable[]) {
  return { items, ...(unreadable.length > 0 && { unreadable }) };
}

export function pageOf<T extends z.ZodType>(item: T) {
  return listOf(item).extend({ nextCursor: z.string().nullable() });
}

/** Returns a function that strips a record to the response schema. */
export function viewOf<T extends z.ZodType>(answer: T) {
  return (record: z.input<T>): z.output<T> => strip(answer, record);
}

export function json<T extends z.ZodType>(description: string, schema: T) {
  return { description, content: { 'application/json': { schema } } };
}

export type Codes = readonly ErrorCode[];

/** Problems of every operation. */
const COMMON_CODES: Codes = [
  'malformed_request',
  'headers_too_large',
  'request_timeout',
  'expectation_failed',
  'invalid_request',
  'invalid_id',
  'unauthenticated',
  'forbidden',
  'store_unavailable',
  'internal',
];

/** Problems of operations with a body. */
export const BODY: Codes = ['invalid_json', 'unsupported_media_type', 'body_too_large'];
/** Problems of operations with an Idempotency-Key. */
export const KEYED: Codes = ['idempotency_key_reused'];
/** Problems of operations that start or signal a workflow. */
export const SAGA: Codes = [
  'temporal_unavailable',
  'host_unavailable',
  'step_timeout',
  'stale_attempt',
  'fault_injected',
];
/** Problems of operations that a policy may restrict. */
export const POLICY_CODES: Codes = [
  'policy_denied',
  'idempotency_key_required',
  'approval_refused',
  'approval_stale',
  'approval_decided',
  'approvals_full',
];
export const RUNNING: Codes = ['sandbox_not_found', 'sandbox_ended', 'sandbox_not_running', 'sandbox_suspended'];
/** Problems of operations on a running sandbox, which allows one at a time. */
export const OPERATION: Codes = [...RUNNING, ...SAGA, 'sandbox_busy', 'host_disk_full', 'cleanup_incomplete'];
/** Problems of host capacity, and of a machine that boots or wakes. */
const MACHINE: Codes = [
  'capacity_exhausted',
  'quota_exceeded',
  'host_disk_full',
  'boot_failed',
  'ip_timeout',
  'ssh_timeout',
  'host_key_mismatch',
  'address_conflict',
  ...MACHINE_END_CODES,
];
export const WAKE: Codes = [...OPERATION, ...MACHINE, 'wake_failed', 'hibernation_unsupported'];
/** Problems of operations inside a sandbox, which may have to resume first. */
export const GUEST: Codes = [...WAKE, 'guest_unreachable', 'guest_failed', 'too_many_requests'];
export const SOURCE: Codes = ['source_not_found', 'no_host', 'source_not_running', 'source_unsafe', 'source_changed'];
/** Problems of operations on a source itself. */
export const SOURCE_TASK: Codes = [...SAGA, ...SOURCE, 'source_busy'];
/** Problems of creates: the origin, the placement and the machine. */
export const CREATE: Codes = [
  'name_taken',
  'template_unavailable',
  'project_quota_exceeded',
  ...SAGA,
  ...MACHINE,
  ...SOURCE,
  'exceeds_hosts',
  'source_differs',
  'source_running',
  'snapshot_not_found',
  'snapshot_not_ready',
  'capture_not_found',
  'capture_not_ready',
  'clone_failed',
  'restore_failed',
  'wake_failed',
  'sandbox_ended',
  'cleanup_incomplete',
];

const content = { 'application/problem+json': { schema: problemAnswer } };
const other = { default: { description: 'Problem', content } };

/**
 * Returns the problem responses of a route, by status with their codes, for its documentation. Tests of the API fail on
 * a code that is missing here.
 */
export function problems(...codes: (ErrorCode | Codes)[]): typeof other {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of [...COMMON_CODES, ...codes.flat()]) {
    const { status } = ERRORS[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  const named = [...byStatus].map(([status, its]) => {
    const description = [...its].map((code) => `\`${code}\`: ${ERRORS[code].title}`).join('; ');
    return [status, { description, content }];
  });
  return { ...Object.fromEntries(named), ...other };
}
