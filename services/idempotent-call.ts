import { createHash } from 'node:crypto';
import type { ApiKey } from '../model/access/api-key.ts';
import type { CountRule } from '../model/approvals/policy.ts';
import { type ErrorCode, isMayflyError, MayflyError } from '../model/errors.ts';
import { ID_BYTES } from '../model/ids.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import type { Claim, Outcome } from '../store/access/idempotency.ts';
import type { ProjectStore } from '../store/project-store.ts';

/** Request that makes something: its key, the id of its result, and the quota and approval that it holds until then. */
export interface IdempotentCall {
  readonly apiKey: ApiKey;
  readonly subjectId: string;
  /** False: an earlier request with the same key has the same `subjectId`, and may have started. */
  readonly isFresh: boolean;
  /** Null without an Idempotency-Key. */
  readonly claim: Claim | null;
  /** Outcome of the request, as far as known. */
  outcome: Outcome;
  /** Approval that the request has used. */
  approvalId: string | null;
  /** Limit of counted sandboxes by the project's policy. `@default` none */
  countRule?: CountRule | undefined;
  /** Ids of the sandboxes that count against quotas for this request. */
  admittedIds: readonly string[];
}

/** Errors after which a request may have started, unless they state otherwise. */
const UNCERTAIN: readonly ErrorCode[] = ['temporal_unavailable', 'store_unavailable', 'internal'];

/** Derives the id of a further resource of a request. Deterministic. */
export function deriveId(idFrom: (random: Uint8Array) => string, subjectId: string, what: string): string {
  return idFrom(createHash('sha256').update(`${subjectId}/${what}`).digest().subarray(0, ID_BYTES));
}

export function actorOf({ apiKey, approvalId }: IdempotentCall, agentId: string | null = null): Actor {
  const { id, project } = apiKey;
  return { apiKeyId: id, agentId, project, ...(approvalId !== null && { approvalId }) };
}

/**
 * Releases the quota, the approval, then the key of a refused request. An error that leaves the outcome open
 * releases nothing: a retry joins the work of the first request.
 */
export async function releaseRefused(store: ProjectStore, call: IdempotentCall, error: unknown): Promise<void> {
  await releaseUnstarted(store, call, call.admittedIds, error);
  if (isRefusal(error) && call.isFresh) await releaseCall(store, call);
}

/**
 * Releases the quota of sandboxes that certainly do not start. With an Idempotency-Key they stay counted while Temporal
 * is unavailable: another request of that key may rely on this count.
 */
export async function releaseUnstarted(
  { admissions }: Pick<ProjectStore, 'admissions'>,
  { claim }: Pick<IdempotentCall, 'claim'>,
  sandboxIds: readonly string[],
  error: unknown,
): Promise<void> {
  const isUnreached = isMayflyError(error, 'temporal_unavailable') && error.options.mayHaveBegun !== true;
  const isUnstarted = isRefusal(error) || (isUnreached && claim === null);
  if (isUnstarted && sandboxIds.length > 0) await admissions.release(sandboxIds);
}

/** Releases the approval and the key of a request that has made nothing. */
export async function releaseCall(
  store: ProjectStore,
  { claim, approvalId, subjectId }: IdempotentCall,
): Promise<void> {
  if (!claim) return;
  const unused = { state: 'approved', usedAt: null, usedFor: null } as const;
  if (approvalId !== null) await store.approvals.change(approvalId, { state: 'used', usedFor: subjectId }, unused);
  await store.idempotency.release({ ...claim, subjectId });
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof MayflyError)) return false;
  return error.options.mayHaveBegun !== true && !UNCERTAIN.includes(error.code);
}
