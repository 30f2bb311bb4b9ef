import { createHmac } from 'node:crypto';
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server';

/** What comes back with the answer to what was shown (2026-07-28). */
export interface Shown {
  approvalId: string;
  idempotencyKey: string;
}

/** How what waits for approval is shown. */
export interface Showing {
  /** Where who may decide logs in. */
  pageOf(approvalId: string): string;
  codec: RequestStateCodec<Shown>;
}

/**
 * @param apiUrl of the API, as who is shown it reaches it
 * @param secret of the caller's: all processes make one codec of it. No right rests on it: what is in a state, its caller knows
 */
export function showingOf(apiUrl: string, secret: string): Showing {
  const key = createHmac('sha256', secret).update('the state of an elicitation').digest();
  return {
    pageOf: (approvalId) => `${apiUrl.replace(/\/+$/, '')}/approvals#${approvalId}`,
    codec: createRequestStateCodec<Shown>({ key }),
  };
}
