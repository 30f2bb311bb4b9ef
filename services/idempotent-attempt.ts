import { createHash } from 'node:crypto';
import type { CountRule } from '../model/approvals/policy.ts';
import { isMayflyError, MayflyError } from '../model/errors.ts';
import { ID_BYTES } from '../model/ids.ts';
import type { Claim, Lead } from '../store/access/idempotency.ts';
import type { ProjectStore } from '../store/project-store.ts';

/** One request that makes something: the id of that, and whether it is the first of its key. */
export interface Attempt {
  subjectId: string;
  isFresh: boolean;
  /** What else it may come to, as far as is known here. */
  lead: Lead;
  /** By which it may be done, where it needs one. */
  approvalId: string | null;
  /** Null without an Idempotency-Key. */
  claim: Claim | null;
  /** How many sandboxes the policy lets its project have, when they are counted. `@default` any number */
  countRule?: CountRule | undefined;
}

/** The id of one more thing that a request makes; the same request, the same id. */
export function furtherId(idFrom: (random: Uint8Array) => string, subjectId: string, what: string): string {
  return idFrom(createHash('sha256').update(`${subjectId}/${what}`).digest().subarray(0, ID_BYTES));
}

/**
 * Runs what may refuse a request before anything is made, which frees its key. It stays taken when Temporal was away:
 * the wish may have arrived nevertheless.
 */
export async function freedWhenRefused<T>(store: ProjectStore, attempt: Attempt, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    const isAway = isMayflyError(error, 'temporal_unavailable');
    if (attempt.isFresh && !isAway) await freeRequest(store, attempt);
    if (!isMayflyError(error, 'store_unavailable')) throw error;
    throw new MayflyError(error.code, error.message, { ...error.options, cause: error, mayHaveBegun: false });
  }
}

/** Gives back what a request has taken of which nothing was made: its approval, then its key. */
export async function freeRequest(store: ProjectStore, { claim, approvalId, subjectId }: Attempt): Promise<void> {
  if (!claim) return;
  const unused = { state: 'approved', usedAt: null, usedFor: null } as const;
  if (approvalId !== null) await store.approvals.change(approvalId, { state: 'used', usedFor: subjectId }, unused);
  await store.idempotency.release({ ...claim, subjectId });
}
