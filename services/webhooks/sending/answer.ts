import type { IncomingMessage } from 'node:http';
import type { PostOutcome } from './post-outcome.ts';

/** More of an answer is not read. Bytes. */
const MOST_READ = 65_536;
/** So much of it is kept. Bytes. */
export const KEPT = 1_024;

/** What an endpoint answered: 2xx, whole and brief, is the only success. @throws Error when the signal is aborted */
export async function answerOf(answer: IncomingMessage, signal: AbortSignal): Promise<PostOutcome> {
  const status = answer.statusCode ?? 0;
  const { bytes, problem } = await bodyOf(answer, signal);
  const reason = problem ?? problemOf(status);
  return {
    isTaken: reason === null,
    status,
    reason,
    isTimeout: false,
    retryAfterMs: retryAfterOf(answer.headers['retry-after'], Date.now()),
    answer: bytes.subarray(0, KEPT),
  };
}

/** Milliseconds; null: it asks for nothing that can be understood (RFC 9110 §10.2.3). */
export function retryAfterOf(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1_000;
  const at = /^[A-Z][a-z]{2},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

async function bodyOf(
  answer: IncomingMessage,
  signal: AbortSignal,
): Promise<{ bytes: Buffer; problem: string | null }> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length <= MOST_READ) continue;
      answer.destroy();
      return { bytes: Buffer.concat(pieces), problem: `it answered with more than ${MOST_READ} bytes` };
    }
    return { bytes: Buffer.concat(pieces), problem: null };
  } catch (error) {
    if (signal.aborted) throw error;
    return { bytes: Buffer.concat(pieces), problem: 'it closed the connection before its answer was whole' };
  }
}

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  const isRedirect = status >= 300 && status < 400;
  return `it answered with ${status}${isRedirect ? ', and redirects are not followed' : ''}`;
}
