import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERRORS, MayflyError } from '../../model/errors.ts';

/** Header with an error's code, also for answers without a body (HEAD). */
export const CODE_HEADER = 'x-mayfly-code';
/** Limit of an error's answer, which is a sentence or two, even from a guest. Bytes. */
export const REFUSAL_BYTES = 65_536;

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  /** Segments of the path, percent-decoded, without the first, which selects the route. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Path and query as received. */
  readonly target: string;
  /** Aborted when the peer disconnects before the answer is complete. */
  readonly signal: AbortSignal;
}

/** Handler of one kind of requests. An error becomes the answer unless one has started. */
export type Route = (exchange: Exchange) => Promise<void>;

export function answerJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  response.end(body);
}

/** Sends an error in the form that the API decodes: `{code, message, fields?, retryAfterSeconds?}`. */
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
export function assertMethod({ method, request }: Exchange, ...methods: string[]): void {
  if (methods.includes(method)) return;
  throw new MayflyError('method_not_allowed', `${request.url} takes ${methods.join(', ')}, not ${method}.`);
}
