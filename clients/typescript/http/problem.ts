import { ERRORS, type ErrorCode, isErrorCode } from '../../../model/errors.ts';
import type { Approval } from './openapi.ts';

/** Answer in `application/problem+json` (RFC 9457) as this API gives it. */
export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail?: string;
  instance?: string;
  code: ErrorCode;
  /** Code that is newer than this client; `code` then follows from the status. */
  unknownCode?: string;
  retryable: boolean;
  /** Action that solves the problem. */
  remedy?: string;
  requestId?: string;
  /** Invalid fields, of `invalid_request`. */
  errors?: { field: string; problem: string }[];
  /** Sandbox whose workflow failed: the same key gives the same answer again. */
  sandboxId?: string;
}

/** Returns the code for a status when the answer came from a proxy or another program, not from Mayfly. */
function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'unauthenticated';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'not_found';
  if (status === 429) return 'too_many_requests';
  if (status === 502 || status === 503 || status === 504) return 'host_unavailable';
  return status < 500 ? 'invalid_request' : 'internal';
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function fieldErrors(value: unknown): { field: string; problem: string }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null) return [];
    const { field, problem } = entry as Record<string, unknown>;
    return typeof field === 'string' && typeof problem === 'string' ? [{ field, problem }] : [];
  });
}

/** Reads a problem from an answer's body; missing or malformed fields follow from the status. */
export function problemFrom(status: number, body: string): Problem {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    // Not JSON: a proxy's page. The status decides.
  }
  const fields = typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  const given = text(fields['code']);
  const isKnown = given !== undefined && isErrorCode(given);
  const code = isKnown ? given : codeOfStatus(status);
  const detail =
    text(fields['detail']) ?? (parsed === null ? `HTTP ${status} with a body that is no problem+json` : '');
  const errors = fieldErrors(fields['errors']);
  const requestId = text(fields['requestId']);
  const remedy = text(fields['remedy']);
  const sandboxId = text(fields['sandboxId']);
  return {
    title: text(fields['title']) ?? ERRORS[code].title,
    status,
    code,
    ...(given !== undefined && !isKnown && { unknownCode: given }),
    retryable: typeof fields['retryable'] === 'boolean' ? fields['retryable'] : ERRORS[code].retryable,
    ...(remedy !== undefined && { remedy }),
    ...(detail && { detail }),
    ...(requestId !== undefined && { requestId }),
    ...(sandboxId !== undefined && { sandboxId }),
    ...(errors.length > 0 && { errors }),
  };
}

/** Refusal or failure that the API reported. `message` is fit for a person; `problem` is the whole answer. */
export class MayflyApiError extends Error {
  override readonly name = 'MayflyApiError';
  constructor(
    readonly problem: Problem,
    /** Value of `Retry-After`, seconds; null without one. */
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(problem.detail ? `${problem.title}: ${problem.detail}` : problem.title);
  }
  get code(): ErrorCode {
    return this.problem.code;
  }
  get status(): number {
    return this.problem.status;
  }
  get retryable(): boolean {
    return this.problem.retryable;
  }
  /** Action that solves the problem, in the words of the API. */
  get remedy(): string {
    return this.problem.remedy ?? ERRORS[this.code].remedy;
  }
  get requestId(): string | null {
    return this.problem.requestId ?? null;
  }
}

/** Failed connection: nothing listens there, the name does not resolve, or the connection broke. */
export class MayflyConnectionError extends Error {
  override readonly name = 'MayflyConnectionError';
  constructor(
    readonly baseUrl: string,
    cause: unknown,
  ) {
    super(`${baseUrl} does not answer (${reasonOf(cause)})`, { cause });
  }
}

/** Deadline of a call, with all its attempts, exceeded. The request may still take effect. */
export class MayflyDeadlineError extends Error {
  override readonly name = 'MayflyDeadlineError';
  constructor(readonly seconds: number) {
    super(`no answer within ${seconds} s`);
  }
}

/** Request that awaits an approval; nothing was started. The same request with the same key continues it. */
export class ApprovalNeededError extends Error {
  override readonly name = 'ApprovalNeededError';
  constructor(
    readonly approval: Approval,
    readonly idempotencyKey: string,
  ) {
    super(`${approval.id} waits for approval by ${approval.role}, for: ${approval.rules.join(', ')}`);
  }
}

/** `fetch` hides the system's error one or two causes deep. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
