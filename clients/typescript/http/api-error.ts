import { ERRORS, type ErrorCode } from '../../../model/errors.ts';
import type { Approval } from './openapi.ts';
import type { Problem } from './problem.ts';

/** The API refused, or said that it failed. `message` is fit for a person; `problem` is the whole answer. */
export class MayflyApiError extends Error {
  override readonly name = 'MayflyApiError';
  constructor(
    readonly problem: Problem,
    /** Seconds after which the API asked to be tried again (`Retry-After`); null when it did not say. */
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
  /** What to do about it, in the words of the API. */
  get remedy(): string {
    return this.problem.remedy ?? ERRORS[this.code].remedy;
  }
  get requestId(): string | null {
    return this.problem.requestId ?? null;
  }
}

/** No answer at all: nothing listens there, the name does not resolve, the connection broke. */
export class MayflyConnectionError extends Error {
  override readonly name = 'MayflyConnectionError';
  constructor(
    readonly baseUrl: string,
    cause: unknown,
  ) {
    super(`${baseUrl} does not answer (${reasonOf(cause)})`, { cause });
  }
}

/** The time that was given for a call, with all its attempts, is over. What it asked for may still happen. */
export class MayflyDeadlineError extends Error {
  override readonly name = 'MayflyDeadlineError';
  constructor(readonly seconds: number) {
    super(`no answer within ${seconds} s`);
  }
}

/** What was asked for waits for somebody's leave; nothing of it was begun. The same request with the same key goes on. */
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
