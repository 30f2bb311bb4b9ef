import { ERRORS, type ErrorCode, type MayflyError } from '../../model/errors.ts';
import { redact, redactText } from '../../model/redaction/redact.ts';

/** RFC 9457 §3 */
export const PROBLEM_TYPE = 'application/problem+json';
/** Where docs/errors.md describes a code; RFC 9457 §3.1.1 lets `type` be a relative reference. */
const TYPE_BASE = '/docs#';
/** Seconds to wait before a retry when nobody knows better. */
export const RETRY_AFTER_SECONDS = 5;

/** A problem as it is answered (RFC 9457), with our extensions after `instance`. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ErrorCode;
  retryable: boolean;
  /** What the reader can do. */
  remedy: string;
  requestId: string;
  errors?: { field: string; problem: string }[];
  sandboxId?: string;
  commandId?: string;
  snapshotId?: string;
  captureId?: string;
}

export type Subjects = Pick<Problem, 'sandboxId' | 'commandId' | 'snapshotId' | 'captureId'>;

/** Describes an error in the words of the table and its own. @param at what was asked for, and by which request */
export function problemAt(
  at: Pick<Problem, 'instance' | 'requestId'>,
  error: MayflyError,
  more: Subjects = {},
): Problem {
  const { status, title, remedy, retryable } = ERRORS[error.code];
  const { fields } = error.options;
  return {
    type: `${TYPE_BASE}${error.code}`,
    title,
    status,
    detail: redactText(error.message),
    instance: redactText(at.instance),
    code: error.code,
    retryable,
    remedy,
    requestId: at.requestId,
    ...(fields && { errors: redact(fields) }),
    ...more,
  };
}
