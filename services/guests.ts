import { z } from 'zod';
import { ERRORS, type ErrorCode, isErrorCode, MayflyError } from '../model/errors.ts';
import { replaceControls } from '../model/utf8.ts';

/**
 * Client of what runs inside a sandbox or a source: HTTP through the relay of the worker on its host. docs/architecture.md#the-relay
 * lists the paths. Bodies are streams in both directions, never held in memory as a whole.
 */
export interface Guests {
  /**
   * @param hostId host of the relay
   * @param path absolute path with its query, already percent-encoded
   * @returns any response of the relay, also a refusal; {@link toGuestError} turns that into an error
   * @throws MayflyError host_unavailable when the relay does not answer; the signal's reason
   */
  request(hostId: string, path: string, init?: GuestRequest): Promise<Response>;
}

export interface GuestRequest {
  method?: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: Uint8Array | ReadableStream<Uint8Array>;
  signal?: AbortSignal;
}

/** Limit of a guest's JSON, bytes: guests are untrusted. */
const MAX_JSON_BYTES = 16_384;
const MAX_MESSAGE_LENGTH = 2_000;
/** Codes that only the API itself may return. */
const RESERVED_CODES: ReadonlySet<ErrorCode> = new Set([
  'unauthenticated',
  'forbidden',
  'not_found',
  'method_not_allowed',
]);
/** Format of docs/architecture.md#the-relay. */
const refusal = z.object({
  code: z.string(),
  message: z.string(),
  fields: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
  retryAfterSeconds: z.int().min(0).max(3_600).optional(),
});

/** Returns the error of a response with a status of 400 or more. */
export async function toGuestError(response: Response): Promise<MayflyError> {
  const { data } = refusal.safeParse(await smallJsonOf(response));
  const code = codeOf(data?.code ?? response.headers.get('X-Mayfly-Code'));
  // A response to HEAD has no body.
  const message = toDisplayText(
    data?.message ?? (code ? `${ERRORS[code].title}.` : `The guest answered ${response.status}.`),
  );
  if (!code) return new MayflyError('guest_failed', message);
  const { fields, retryAfterSeconds } = data ?? {};
  return new MayflyError(code, message, {
    ...(fields && { fields }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

function codeOf(text: string | null): ErrorCode | null {
  return text !== null && isErrorCode(text) && !RESERVED_CODES.has(text) ? text : null;
}

/** Parses the JSON of a body of at most 16 KiB; null when it is longer, or no JSON. */
export async function smallJsonOf(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_JSON_BYTES) return null;
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return null; // the caller names the expected format
  }
}

/** Returns a guest's text, bounded and printable. */
function toDisplayText(text: string): string {
  return replaceControls(text.slice(0, MAX_MESSAGE_LENGTH));
}
