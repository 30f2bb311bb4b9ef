import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERRORS, MayflyError } from '../../model/errors.ts';

/** Names the code of an error's answer, also where an answer has no body (HEAD). */
export const CODE_HEADER = 'x-mayfly-code';
/** An error's answer is a sentence or two, also when a guest makes it. Bytes. */
export const REFUSAL_BYTES = 65_536;

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  /** Of the path, percent-decoded, without the first, by which the route was chosen. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Path and query as they came. */
  readonly target: string;
  /** Aborted when the other side is gone before the answer was complete. */
  readonly signal: AbortSignal;
}

/** Answers one kind of requests. What it throws becomes an answer, as long as none was begun. */
export type Route = (exchange: Exchange) => Promise<void>;

export function answerJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  response.end(body);
}

/** An error as the API's side turns it into one again: `{code, message, fields?, retryAfterSeconds?}`. */
export function answerError(response: ServerResponse, error: MayflyError): void {
  const { fields, retryAfterSeconds } = error.options;
  response.setHeader(CODE_HEADER, error.code);
  answerJson(response, ERRORS[error.code].status, {
    code: error.code,
    message: error.message,
    ...(fields && { fields }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

/** @throws MayflyError method_not_allowed */
export function allowMethods({ method, request }: Exchange, ...methods: string[]): void {
  if (methods.includes(method)) return;
  throw new MayflyError('method_not_allowed', `${request.url} takes ${methods.join(', ')}, not ${method}.`);
}
