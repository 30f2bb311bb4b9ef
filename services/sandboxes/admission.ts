import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { selectVictims } from '../../model/pools/preemption.ts';
import type { Counted, Size } from '../../model/project-limits.ts';
import { shuffled } from '../../store/pools/shuffled.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';

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

/**
 * Evicts as many unclaimed members of the project's pools as the wanted sandboxes exceed its quotas by.
 * @returns false: that would not help, so none did
 * @throws MayflyError temporal_unavailable; the signal's reason when it fires before they are gone
 */
async function preemptMembers(
  { store, sagas }: Pick<ServiceDeps, 'store' | 'sagas'>,
  wanted: readonly Counted[],
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return false;
  const members = await store.pools.unclaimed();
  if (members.length === 0) return false;
  const shortage = await store.admissions.shortage(wanted);
  const victims = shortage && selectVictims(shortage, shuffled(members));
  if (!victims) return false;
  const named = victims.flatMap(({ pool, ...rest }) => (pool ? [{ ...rest, pool }] : []));
  const ending = await sagas.pools.evict(named, { code: 'project_quota_exceeded' });
  await Promise.all(ending.map((id) => sagas.sandboxes.ended(id, signal)));
  return true;
}
