import { ERRORS, type ErrorCode } from '../../model/errors.ts';
import { MACHINE_END_CODES } from '../../model/sandbox/machine-end.ts';
import { problemAnswer } from './schemas.ts';

export type Codes = readonly ErrorCode[];

/** Answered to anything: how and what is asked for, who asks, and what Mayfly stands on. */
const ANYTHING: Codes = [
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

/** To what comes with a body. */
export const BODY: Codes = ['invalid_json', 'unsupported_media_type', 'body_too_large'];
/** To what comes with an Idempotency-Key. */
export const KEYED: Codes = ['idempotency_key_reused'];
/** To what begins a saga, or tells one something. */
export const SAGA: Codes = [
  'temporal_unavailable',
  'host_unavailable',
  'step_timeout',
  'stale_attempt',
  'fault_injected',
];
/** To what a policy may have asked for first. */
export const ASKED_FOR: Codes = [
  'policy_denied',
  'idempotency_key_required',
  'approval_refused',
  'approval_stale',
  'approval_decided',
  'approvals_full',
];
export const RUNNING: Codes = ['sandbox_not_found', 'sandbox_ended', 'sandbox_not_running', 'sandbox_suspended'];
/** To what is done to a sandbox that runs: one thing at a time. */
export const OPERATION: Codes = [...RUNNING, ...SAGA, 'sandbox_busy', 'host_disk_full', 'cleanup_incomplete'];
/** To what needs room on a host, and a machine that boots or wakes there. */
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
/** To what is done inside a sandbox, which may have to be resumed for it. */
export const GUEST: Codes = [...WAKE, 'guest_unreachable', 'guest_failed', 'too_many_requests'];
export const SOURCE: Codes = ['source_not_found', 'no_host', 'source_not_running', 'source_unsafe', 'source_changed'];
/** To what is done to a source itself. */
export const SOURCE_TASK: Codes = [...SAGA, ...SOURCE, 'source_busy'];
/** To what makes a machine: what it is made of, where, and how it went. */
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
 * The problems that a route answers, by status, each with its codes: for its documentation. Whoever answers throws; the
 * tests of the API fail on one that is not named.
 */
export function problems(...codes: (ErrorCode | Codes)[]): typeof other {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of [...ANYTHING, ...codes.flat()]) {
    const { status } = ERRORS[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  const named = [...byStatus].map(([status, its]) => {
    const description = [...its].map((code) => `\`${code}\`: ${ERRORS[code].title}`).join('; ');
    return [status, { description, content }];
  });
  return { ...Object.fromEntries(named), ...other };
}
