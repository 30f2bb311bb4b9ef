import { idleUntil } from '../../model/pools/idle.ts';
import type { PoolRecord } from '../../model/pools/pool.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';

/** Returns the idle memory of a pool: as its workflow has written it, and what ready members have held since. */
export function idleMibHoursOf({ idle }: PoolRecord, members: readonly StoredMember[]): number {
  const ready = members.filter(({ state }) => state === 'warm');
  const holders = ready.map(({ pool, size }) => ({ warmAt: pool?.warmAt ?? null, memoryMib: size?.memoryMib ?? 0 }));
  return idleUntil(idle, holders, Date.now()).mibHours;
}
