import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ERRORS, type ErrorCode, MayflyError } from '../../model/errors.ts';
import { PROBLEM_TYPE, problemAt, RETRY_AFTER_SECONDS } from '../problems/problem.ts';

/** Codes that become 503: the sandbox lives, but cannot be used now. */
const UNAVAILABLE_CODES: ReadonlySet<ErrorCode> = new Set(['sandbox_suspended', 'sandbox_not_running', 'sandbox_busy']);
const ENDED: ReadonlySet<ErrorCode> = new Set(['sandbox_ended', 'sandbox_not_found']);
const UNAVAILABLE = 503;

/** Returns one error for all that a caller cannot have, which reveals no cause. */
export function portNotFound(): MayflyError {
  return new MayflyError(
    'not_found',
    'Nothing is here for you: the port is not open or its sandbox has ended, or the token or key is missing, wrong or has expired.',
  );
}

/** Answers with a problem; destroys a response that has started. */
export function refuse(answer: ServerResponse, cause: unknown): void {
  if (answer.headersSent) return void answer.destroy();
  const error = toPublicError(cause);
  const requestId = randomUUID();
  const status = UNAVAILABLE_CODES.has(error.code) ? UNAVAILABLE : ERRORS[error.code].status;
  const problem = { ...problemAt({ instance: `urn:uuid:${requestId}`, requestId }, error), status };
  const isLater = problem.retryable || status === UNAVAILABLE;
  answer.writeHead(status, {
    'Content-Type': PROBLEM_TYPE,
    'Cache-Control': 'no-store',
    'X-Mayfly-Code': error.code,
    'X-Request-Id': requestId,
    ...(isLater && { 'Retry-After': String(error.options.retryAfterSeconds ?? RETRY_AFTER_SECONDS) }),
  });
  answer.end(JSON.stringify(problem));
}

/** Returns an error for callers: an ended sandbox looks like one that never existed. */
function toPublicError(cause: unknown): MayflyError {
  if (!(cause instanceof MayflyError))
    return new MayflyError('internal', 'Something went wrong here that nobody foresaw.');
  return ENDED.has(cause.code) ? portNotFound() : cause;
}
