import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { ERRORS, type ErrorCode, MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { redact, redactText } from '../../model/redaction/redact.ts';

/** Media type of a problem (RFC 9457 §3). */
export const PROBLEM_TYPE = 'application/problem+json';
/** Base of problem types, at which docs/errors.md describes a code; RFC 9457 §3.1.1 allows a relative reference. */
const TYPE_BASE = '/docs#';
/** Default of Retry-After, s. */
export const RETRY_AFTER_SECONDS = 5;

/** Problem details (RFC 9457), with extensions after `instance`. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ErrorCode;
  retryable: boolean;
  /** Advice to the reader. */
  remedy: string;
  requestId: string;
  errors?: { field: string; problem: string }[];
  sandboxId?: string;
  commandId?: string;
  snapshotId?: string;
  captureId?: string;
}

export type Subjects = Pick<Problem, 'sandboxId' | 'commandId' | 'snapshotId' | 'captureId'>;

/** Describes an error by its entry in the error table and its own message. @param at request path and id */
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

/**
 * Response to bytes that never became a request with a path: a problem with an id of its own. It closes the connection.
 */
interface EarlyProblem {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Returns the bytes on the wire (RFC 9112). */
  text(): string;
  response(): Response;
}

export function earlyProblem(error: MayflyError): EarlyProblem {
  const requestId = randomUUID();
  const problem = problemAt({ instance: `urn:uuid:${requestId}`, requestId }, error);
  const { status } = problem;
  const body = JSON.stringify(problem);
  const headers = {
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Mayfly-Code': error.code,
    'X-Request-Id': requestId,
    Connection: 'close',
    ...(problem.retryable && { 'Retry-After': String(RETRY_AFTER_SECONDS) }),
    ...(status === 405 && { Allow: '' }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return {
    status,
    headers,
    body,
    text: () => `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`,
    response: () => new Response(body, { status, headers }),
  };
}

/**
 * Returns the error of a `clientError` event of Node's parser or timer. Omits its message, which may quote the client.
 * @param code a number where a response was aborted
 * @param headerBytes limit of the headers
 */
export function toParserError(
  { code }: Error & { code?: unknown },
  headerBytes: number = LIMITS.headerBytes,
): MayflyError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new MayflyError('headers_too_large', `The headers have more than ${headerBytes} bytes.`);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new MayflyError('request_timeout', 'The headers of the request did not arrive in time.');
  }
  const reason = typeof code === 'string' && code.startsWith('HPE_') ? ` (${code})` : '';
  return new MayflyError('malformed_request', `What was sent is not HTTP/1.1${reason}.`);
}
