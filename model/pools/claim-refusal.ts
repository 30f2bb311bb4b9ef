import type { ErrorCode, MayflyError } from '../errors.ts';

/**
 * Why no member was had: none was ready that would do; others had them; those that were asked could not be had; its project
 * has had its share of a pool that all share, or may have no more sandboxes.
 */
export type Miss = 'empty' | 'taken' | 'unfit' | 'limited';

/** It is another's, ends, is not what is wanted, or more than the project may have; whatever else is wrong with it, another may do. */
const REFUSED: ReadonlySet<string> = new Set<ErrorCode>([
  'sandbox_busy',
  'sandbox_ended',
  'sandbox_not_running',
  'sandbox_not_found',
  'project_quota_exceeded',
  'quota_exceeded',
  'internal',
]);

const MISS_OF: Partial<Record<ErrorCode, Miss>> = {
  sandbox_busy: 'taken',
  project_quota_exceeded: 'limited',
  quota_exceeded: 'limited',
};

/** Whether a member was not had; also when too many ask it, so that Temporal does not take one more: then it is another's soon. */
export function isRefusedClaim({ code, options }: MayflyError): boolean {
  return REFUSED.has(code) || (code === 'temporal_unavailable' && options.mayHaveBegun === false);
}

export function missOf({ code }: MayflyError): Miss {
  return MISS_OF[code] ?? 'unfit';
}
