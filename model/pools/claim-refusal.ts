import type { ErrorCode, MayflyError } from '../errors.ts';

/**
 * Reason for a claim without a member: none was ready; others got them; the candidates could not be claimed; or the
 * project has used its share of a shared pool or its quota.
 */
export type MissReason = 'empty' | 'taken' | 'unfit' | 'limited';

/** Errors of a claim after which another member may succeed: already claimed, ending, not matching, or over a quota. */
const REFUSED: ReadonlySet<string> = new Set<ErrorCode>([
  'sandbox_busy',
  'sandbox_ended',
  'sandbox_not_running',
  'sandbox_not_found',
  'project_quota_exceeded',
  'quota_exceeded',
  'internal',
]);

const MISS_OF: Partial<Record<ErrorCode, MissReason>> = {
  sandbox_busy: 'taken',
  project_quota_exceeded: 'limited',
  quota_exceeded: 'limited',
};

/**
 * True when a claim failed for this member only. Temporal rejecting an update because too many wait counts too: others
 * will claim the member.
 */
export function isRefusedClaim({ code, options }: MayflyError): boolean {
  return REFUSED.has(code) || (code === 'temporal_unavailable' && options.mayHaveBegun === false);
}

export function getMissReason({ code }: MayflyError): MissReason {
  return MISS_OF[code] ?? 'unfit';
}
