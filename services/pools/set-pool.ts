import { MayflyError } from '../../model/errors.ts';
import { addIdleMemory } from '../../model/pools/idle.ts';
import type { PoolRecord, PoolSpec } from '../../model/pools/pool.ts';
import { NO_PROJECT } from '../../model/project.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import { assertPlaceable } from '../sandboxes/placement.ts';
import { orThrow, type ServiceDeps } from '../service-deps.ts';

/** Returns the idle memory of a pool: the part in its record, plus that of ready members since then. */
export function idleMibHoursOf({ idle }: PoolRecord, members: readonly StoredMember[]): number {
  const ready = members.filter(({ state }) => state === 'warm');
  const holders = ready.map(({ pool, size }) => ({ warmAt: pool?.warmAt ?? null, memoryMib: size?.memoryMib ?? 0 }));
  return addIdleMemory(idle, holders, Date.now()).mibHours;
}

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;

/**
 * Sets the pool of a name, and returns its record once no process caches the previous one.
 * @param isShared true for a pool of all projects, which only operators set
 * @throws MayflyError forbidden, source_not_found, no_host
 */
export async function setPool(
  deps: Deps,
  actor: Actor,
  name: string,
  wish: PoolSpec,
  isShared: boolean,
): Promise<PoolRecord> {
  const { store, sagas } = deps;
  if (isShared) await assertShareable(deps, wish.source);
  await assertPlaceable(store, wish.source);
  const project = isShared ? NO_PROJECT : actor.project;
  await sagas.pools.set({ project, name, wish, actor, at: new Date().toISOString() });
  await awaitCacheExpiry();
  return requirePool(deps, name, project);
}

/** @param project `@default` that of the caller @throws MayflyError pool_not_found */
export async function requirePool(
  { store }: Pick<ServiceDeps, 'store'>,
  name: string,
  project: string = store.viewer.project,
): Promise<PoolRecord> {
  return orThrow(await store.pools.get({ project, name }), 'pool_not_found', `There is no pool ${name}.`);
}

/** @throws MayflyError forbidden, source_not_found */
async function assertShareable({ store }: Deps, source: string): Promise<void> {
  if (!store.viewer.isOperator) throw new MayflyError('forbidden', 'Only operators set a pool that projects share.');
  if (await store.pools.mayShare(source)) return;
  throw new MayflyError('source_not_found', `${JSON.stringify(source)} is one project's: no pool of it can be shared.`);
}
