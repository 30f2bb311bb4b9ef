import { isCancellation, log, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { HostRef } from '../../model/host.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { failureOf } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';

const { evictMembers } = proxyActivities<ControlActivities>(PROFILE.work(MINUTE_MS));

/** Reports whether a host lacked room and pool members may be evicted; never for a pool's own members. */
export function canPreempt(entity: SandboxEntity, error: unknown): boolean {
  if (failureOf(error, entity.failedStep).code !== 'capacity_exhausted') return false;
  const { pool } = entity.record;
  return !entity.input.template && (pool === undefined || pool.claimedBy !== null);
}

/**
 * Retries on a host that lacked room, evicting pool members there first: twice as many each time.
 * @param refusal first refusal
 * @throws the error of `run`, or the last refusal
 */
export async function retryAfterPreemption<T>(
  entity: SandboxEntity,
  { hostId }: HostRef,
  refusal: unknown,
  run: () => Promise<T>,
): Promise<T> {
  let last = refusal;
  for (let count = 1; await evict(entity, hostId, count); count *= 2) {
    try {
      return await run();
    } catch (error) {
      if (!canPreempt(entity, error)) throw error;
      last = error;
    }
  }
  throw last;
}

/** Returns true when a retry is worthwhile. */
async function evict(entity: SandboxEntity, hostId: string, count: number): Promise<boolean> {
  const { spec, size } = entity.record;
  const { source, memoryMib } = spec;
  const { failedStep } = entity;
  try {
    return await entity.measureStep('evictMembers', () =>
      evictMembers({ hostId, source, memoryMib: size?.memoryMib ?? memoryMib, count }),
    );
  } catch (error) {
    if (isCancellation(error)) throw error;
    entity.failedStep = failedStep; // the original refusal stays the failure
    log.warn('no member of a pool is evicted', { sandboxId: entity.id, hostId, why: String(error) });
    return false;
  }
}
