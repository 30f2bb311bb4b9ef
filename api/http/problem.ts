import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ErrorCode } from '../../model/errors.ts';
import { ERRORS, MayflyError } from '../../model/errors.ts';
import { redact, redactText } from '../../model/redaction/redact.ts';
import type { AppDeps, Env } from './context.ts';

/** RFC 9457 §3 */
export const PROBLEM_TYPE = 'application/problem+json';
/** Where docs/errors.md describes a code; RFC 9457 §3.1.1 lets `type` be a relative reference. */
const TYPE_BASE = '/docs#';
/** Seconds to wait before a retry when nobody knows better; a disk snapshot is over in less than the one for the busy. */
export const RETRY_AFTER_SECONDS = 5;
const BUSY_SECONDS = 2;

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

type Subjects = Pick<Problem, 'sandboxId' | 'commandId' | 'snapshotId' | 'captureId'>;

/** An error in the words of the table and its own, and no more. */
export function problemOf(c: Context<Env>, error: MayflyError, more: Subjects = {}): Problem {
  return problemAt({ instance: c.req.path, requestId: c.get('requestId') }, error, more);
}

/** @param at what was asked for, and by which request */
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

/** The answer for an error: always problem+json. */
export function problemResponse(c: Context<Env>, error: MayflyError, more: Subjects = {}): Response {
  const problem = problemOf(c, error, more);
  const { status, retryable } = problem;
  const usual = error.code === 'sandbox_busy' ? BUSY_SECONDS : RETRY_AFTER_SECONDS;
  if (retryable) c.header('Retry-After', String(error.options.retryAfterSeconds ?? usual));
  if (status === 401) c.header('WWW-Authenticate', 'Bearer realm="mayfly"');
  // The answer to HEAD has no body to say it.
  c.header('X-Mayfly-Code', error.code);
  return c.body(JSON.stringify(problem), status as ContentfulStatusCode, {
    'Content-Type': PROBLEM_TYPE,
  });
}

/** The one place where errors become answers. */
export function errorHandler({ logger }: Pick<AppDeps, 'logger'>) {
  return (error: Error, c: Context<Env>): Response => {
    const known = hasLeft(error, c)
      ? new MayflyError('request_timeout', 'The client left before its request was whole.')
      : asMayflyError(error);
    const { status } = ERRORS[known.code];
    if (status >= 500) {
      logger.error({ err: error, code: known.code, requestId: c.get('requestId') }, 'request failed');
    }
    return problemResponse(c, known);
  };
}

/** Nobody reads the answer to it, and nothing is wrong here. */
function hasLeft(error: Error, { req }: Context<Env>): boolean {
  return req.raw.signal.aborted && 'code' in error && error.code === 'ECONNRESET';
}

function asMayflyError(error: Error): MayflyError {
  if (error instanceof MayflyError) return error;
  if (error instanceof HTTPException && error.status === 400) {
    return new MayflyError('invalid_json', 'The body could not be read as JSON.', { cause: error });
  }
  // What an unforeseen error says may be anything, so it goes to the log, not to the caller.
  return new MayflyError('internal', 'Something went wrong here that nobody foresaw.', { cause: error });
}
