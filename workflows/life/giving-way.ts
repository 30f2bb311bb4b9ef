import { isCancellation, log, patched, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { HostRef } from '../../model/host.ts';
import { failureOf } from '../saga/failure.ts';
import type { Life } from './life.ts';

/** By the queue: members end with their proofs, which takes its time. */
const { membersGiveWay } = proxyActivities<ControlActivities>({
  startToCloseTimeout: '60s',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 3 },
});

/** Whether a host had no room for it, and members of pools are to give way. They do not for what is a pool's itself. */
export function mayGiveWay(life: Life, error: unknown): boolean {
  if (failureOf(error, life.failedStep).code !== 'capacity_exhausted') return false;
  const { pool } = life.record;
  const isForCaller = !life.isBound && (pool === undefined || pool.claimedBy !== null);
  return isForCaller && patched('members-give-way');
}

/**
 * Runs again what a host had no room for, while members of pools there give way to it: twice as many each time.
 * @param refusal of the first time
 * @throws what it throws, or the last refusal
 */
export async function inTheirPlace<T>(
  life: Life,
  { hostId }: Pick<HostRef, 'hostId'>,
  refusal: unknown,
  run: () => Promise<T>,
): Promise<T> {
  let last = refusal;
  for (let count = 1; await haveGivenWay(life, hostId, count); count *= 2) {
    try {
      return await run();
    } catch (error) {
      if (!mayGiveWay(life, error)) throw error;
      last = error;
    }
  }
  throw last;
}

/** Of what can't be asked now nobody gives way. */
async function haveGivenWay(life: Life, hostId: string, count: number): Promise<boolean> {
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
    log.warn('no member of a pool gives way', { sandboxId: life.id, hostId, why: String(error) });
    return false;
  }
}
