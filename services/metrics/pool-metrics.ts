import { Counter, Gauge, type Registry } from 'prom-client';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import type { ClaimCount } from '../pool-door.ts';
import { idleMibHoursOf } from '../pools/set-pool.ts';

/** Registers a gauge. */
export function gaugeOf<T extends string>(registry: Registry, name: string, help: string, ...labelNames: T[]) {
  return new Gauge<T>({ name, help, labelNames, registers: [registry] });
}

const labelNames = ['project', 'pool'] as const;

/** Counts, in this process, the outcomes of creates that a pool could serve. */
export function claimCounter(registry: Registry): ClaimCount {
  const claims = new Counter({
    name: 'mayfly_pool_claims_total',
    help: 'Creates by what they had of a pool: hit; else none was ready (empty), others had them (taken), they could not be had (unfit), or its project may have no more (limited)',
    labelNames: [...labelNames, 'outcome'] as const,
    registers: [registry],
  });
  return ({ project, name }, outcome) => claims.inc({ project, pool: name, outcome });
}

/** Registers gauges of pools. */
export function poolGauges({ pools, poolMembers }: Store, registry: Registry): () => Promise<void> {
  const members = gaugeOf(
    registry,
    'mayfly_pool_members',
    'Members of pools that nobody has claimed, by state: making, warm, ending',
    ...labelNames,
    'state',
  );
  const wanted = gaugeOf(registry, 'mayfly_pool_members_wanted', 'Members that a pool wants to have', ...labelNames);
  const oldest = gaugeOf(
    registry,
    'mayfly_pool_oldest_member_seconds',
    'How long the oldest member has been ready; 0 when none is',
    ...labelNames,
  );
  const idle = gaugeOf(
    registry,
    'mayfly_pool_idle_mib_hours',
    'Memory that members held while they were ready and nobody had claimed them, since there is the pool',
    ...labelNames,
  );
  return async () => {
    const [all, unclaimed] = await Promise.all([pools.all(), poolMembers.unclaimed()]);
    for (const gauge of [members, wanted, oldest, idle]) gauge.reset();
    for (const pool of all) {
      const { project, name } = pool;
      const labels = { project, pool: name };
      const own = unclaimed.filter((member) => member.project === project && member.pool?.name === name);
      for (const stage of STAGES)
        members.set({ ...labels, state: stage }, own.filter((one) => isIn(one, stage)).length);
      const ages = own.flatMap(({ state, pool: of }) => (state === 'warm' && of?.warmAt ? [ageOf(of.warmAt)] : []));
      wanted.set(labels, pool.wanted);
      oldest.set(labels, Math.max(0, ...ages));
      idle.set(labels, idleMibHoursOf(pool, own));
    }
  };
}

const STAGES = ['making', 'warm', 'ending'] as const;

function isIn({ state }: { state: SandboxState }, stage: (typeof STAGES)[number]): boolean {
  if (state === 'destroying') return stage === 'ending';
  return state === 'warm' ? stage === 'warm' : stage === 'making';
}

/** Returns an age, s. */
function ageOf(since: string): number {
  return (Date.now() - Date.parse(since)) / 1_000;
}
