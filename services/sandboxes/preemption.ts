import { selectVictims } from '../../model/pools/preemption.ts';
import type { Counted } from '../../model/project-limits.ts';
import { shuffled } from '../../store/pools/shuffled.ts';
import type { ServiceDeps } from '../service-deps.ts';

/**
 * Evicts as many unclaimed members of the project's pools as the wanted sandboxes exceed its quotas by.
 * @returns false: that would not help, so none did
 * @throws MayflyError temporal_unavailable; the signal's reason when it fires before they are gone
 */
export async function preemptMembers(
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
