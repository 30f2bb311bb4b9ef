import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { Counted, Size } from '../../model/project-limits.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { preemptMembers } from './preemption.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;

/** Time in which evicted members of pools are gone, unless their host is unreachable, ms. */
const EVICTION_MS = 20_000;

/**
 * Has the quotas of the project count sandboxes, before anything of them is made. Evicts unclaimed members of its pools
 * before it refuses.
 * @param call request that a policy has judged; it holds the count until it has made them. `@default` none
 * @throws MayflyError project_quota_exceeded, quota_exceeded, policy_denied: none of them is counted
 */
export async function admit(
  deps: Deps,
  sandboxIds: readonly string[],
  size: Size,
  call?: Pick<IdempotentCall, 'countRule' | 'admittedIds'>,
): Promise<void> {
  const { store, sagas } = deps;
  const wanted = sandboxIds.map((sandboxId) => ({ sandboxId, ...size }));
  for (let tooLate: AbortSignal | null = null; ; ) {
    try {
      await store.admissions.admit(wanted, (id) => sagas.sandboxes.isOpen(id), call?.countRule);
      if (call) call.admittedIds = sandboxIds;
      return;
    } catch (error) {
      tooLate ??= AbortSignal.timeout(EVICTION_MS);
      if (!(await hasEvicted(deps, error, wanted, tooLate))) throw error;
    }
  }
}

/** Whether members were evicted, so that it is worth another try. */
async function hasEvicted(
  deps: Deps,
  refusal: unknown,
  wanted: readonly Counted[],
  tooLate: AbortSignal,
): Promise<boolean> {
  if (!isMayflyError(refusal, 'project_quota_exceeded')) return false;
  try {
    return await preemptMembers(deps, wanted, tooLate);
  } catch (error) {
    if (tooLate.aborted || error instanceof MayflyError) return false; // it is refused for what it was refused for
    throw error;
  }
}
