import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { selectVictims } from '../../model/pools/preemption.ts';
import type { Counted, Size } from '../../model/project-limits.ts';
import { shuffle } from '../../store/pools/shuffled.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;

/** Limit of the wait for evicted members of pools, ms: they end sooner, unless their host is unreachable. */
const EVICTION_MS = 20_000;

/**
 * Counts sandboxes against the quotas of the project, before any is made. Evicts unclaimed members of its pools before
 * it refuses.
 * @param call request that a policy has judged; it holds the count until the sandboxes are made. `@default` none
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

/** Evicts members. @returns true when a retry is worthwhile */
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
    if (tooLate.aborted || error instanceof MayflyError) return false; // the original refusal is thrown
    throw error;
  }
}

/**
 * Evicts as many unclaimed members of the project's pools as the wanted sandboxes exceed its quotas by.
 * @returns false, without an eviction, when that would not help
 * @throws MayflyError temporal_unavailable; the signal's reason when it fires before they have ended
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
  const victims = shortage && selectVictims(shortage, shuffle(members));
  if (!victims) return false;
  const named = victims.flatMap(({ pool, ...rest }) => (pool ? [{ ...rest, pool }] : []));
  const ending = await sagas.pools.evict(named, { code: 'project_quota_exceeded' });
  await Promise.all(ending.map((id) => sagas.sandboxes.ended(id, signal)));
  return true;
}
