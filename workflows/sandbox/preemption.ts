import { isCancellation, log, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { HostRef } from '../../model/host.ts';
import type { Life } from '../life/life.ts';
import { failureOf } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';

const { membersGiveWay } = proxyActivities<ControlActivities>(PROFILE.work(MINUTE_MS));

/** Whether a host had no room, and members of pools may be evicted for this: not for what is a pool's itself. */
export function canPreempt(life: Life, error: unknown): boolean {
  if (failureOf(error, life.failedStep).code !== 'capacity_exhausted') return false;
  const { pool } = life.record;
  return !life.isBound && (pool === undefined || pool.claimedBy !== null);
}

/**
 * Runs again what a host had no room for, while members of pools are evicted there: twice as many each time.
 * @param refusal of the first time
 * @throws what it throws, or the last refusal
 */
export async function retryAfterPreemption<T>(
  life: Life,
  { hostId }: HostRef,
  refusal: unknown,
  run: () => Promise<T>,
): Promise<T> {
  let last = refusal;
  for (let count = 1; await evict(life, hostId, count); count *= 2) {
    try {
      return await run();
    } catch (error) {
      if (!canPreempt(life, error)) throw error;
      last = error;
    }
  }
  throw last;
}

/** Returns whether it is worth another try. */
async function evict(life: Life, hostId: string, count: number): Promise<boolean> {
  const { spec, size } = life.record;
  const { source, memoryMib } = spec;
  const { failedStep } = life;
  try {
    return await life.timed('membersGiveWay', () =>
      membersGiveWay({ hostId, source, memoryMib: size?.memoryMib ?? memoryMib, count }),
    );
  } catch (error) {
    if (isCancellation(error)) throw error;
    life.failedStep = failedStep; // it is refused for what it was refused for
    log.warn('no member of a pool is evicted', { sandboxId: life.id, hostId, why: String(error) });
    return false;
  }
}
