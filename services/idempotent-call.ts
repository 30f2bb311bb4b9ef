import { createHash } from 'node:crypto';
import type { ApiKey } from '../model/access/api-key.ts';
import type { CountRule } from '../model/approvals/policy.ts';
import { type ErrorCode, isMayflyError, MayflyError } from '../model/errors.ts';
import { ID_BYTES } from '../model/ids.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import type { Claim, Outcome } from '../store/access/idempotency.ts';
import type { ProjectStore } from '../store/project-store.ts';

/** Request that makes something: who asks, the id of what it makes, and what it holds until that is made. */
export interface IdempotentCall {
  readonly apiKey: ApiKey;
  readonly subjectId: string;
  /** False: an earlier request with the same key has the same `subjectId`, and may have begun. */
  readonly isFresh: boolean;
  /** Null without an Idempotency-Key. */
  readonly claim: Claim | null;
  /** What it comes to, as far as is known here. */
  outcome: Outcome;
  /** Approval that it has used. */
  approvalId: string | null;
  /** Sandboxes that the policy lets its project have, when they are counted. `@default` any number */
  countRule?: CountRule | undefined;
  /** Ids of sandboxes that quotas count for it. */
  admittedIds: readonly string[];
}

/** Errors after which a request may have begun nevertheless, unless they say otherwise. */
const UNCERTAIN: readonly ErrorCode[] = ['temporal_unavailable', 'store_unavailable', 'internal'];

/** Returns the id of one more thing that a request makes; the same request, the same id. */
export function deriveId(idFrom: (random: Uint8Array) => string, subjectId: string, what: string): string {
  return idFrom(createHash('sha256').update(`${subjectId}/${what}`).digest().subarray(0, ID_BYTES));
}

export function actorOf({ apiKey, approvalId }: IdempotentCall, agentId: string | null = null): Actor {
  const { id, project } = apiKey;
  return { apiKeyId: id, agentId, project, ...(approvalId !== null && { approvalId }) };
}

/**
 * Releases what a refused request holds: its quota, its approval, then its key. An error that leaves open whether anything
 * began releases nothing: the same request again joins what the first one began.
 */
export async function releaseRefused(store: ProjectStore, call: IdempotentCall, error: unknown): Promise<void> {
  await releaseUnstarted(store, call, call.admittedIds, error);
  if (isRefusal(error) && call.isFresh) await releaseCall(store, call);
}

/**
 * Releases the quota of sandboxes of which certainly none starts. With an Idempotency-Key they count on while Temporal is
 * unavailable: this count may have admitted another request of that key.
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
