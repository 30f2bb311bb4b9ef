import { givenUpFor } from '../../model/pools/giving-way.ts';
import type { Counted } from '../../model/project-limits.ts';
import { shuffled } from '../../store/pools/shuffled.ts';
import type { ServiceDeps } from '../service-deps.ts';

/**
 * Has as many members of the project's pools end as these are too many, unless they are claimed meanwhile: nobody is refused
 * for what nobody uses.
 * @returns false: that would not help, so none did
 * @throws MayflyError temporal_unavailable; the signal's reason when it fires before they are gone
 */
export async function membersGaveWay(
  { store, sagas }: Pick<ServiceDeps, 'store' | 'sagas'>,
  wanted: readonly Counted[],
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return false;
  const members = await store.pools.unclaimed();
  if (members.length === 0) return false;
  const shortage = await store.admissions.shortage(wanted);
  const givenUp = shortage && givenUpFor(shortage, shuffled(members));
  if (!givenUp) return false;
  const named = givenUp.flatMap(({ pool, ...rest }) => (pool ? [{ ...rest, pool }] : []));
  const ending = await sagas.pools.giveWay(named, { code: 'project_quota_exceeded' });
  await Promise.all(ending.map((id) => sagas.sandboxes.ended(id, signal)));
  return true;
}
