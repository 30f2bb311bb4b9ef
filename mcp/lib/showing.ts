import { createHmac } from 'node:crypto';
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server';

/** State returned with the answer to an elicitation (2026-07-28). */
export interface ElicitationState {
  approvalId: string;
  idempotencyKey: string;
}

/** Presentation of approval requests. */
export interface ApprovalPresentation {
  /** Returns the page where approvers log in. */
  pageOf(approvalId: string): string;
  codec: RequestStateCodec<ElicitationState>;
}

/**
 * @param apiUrl URL of the API for the user
 * @param secret of the caller: all processes derive the same codec from it. It protects no right: the caller knows its
 * state
 */
export function createPresentation(apiUrl: string, secret: string): ApprovalPresentation {
  const key = createHmac('sha256', secret).update('the state of an elicitation').digest();
  return {
    pageOf: (approvalId) => `${apiUrl.replace(/\/+$/, '')}/approvals#${approvalId}`,
    codec: createRequestStateCodec<ElicitationState>({ key }),
  };
}
