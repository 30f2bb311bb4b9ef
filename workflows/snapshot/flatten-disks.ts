import { isCancellation } from '@temporalio/workflow';
import { LONGEST_CHAIN } from '../../model/snapshots/snapshot.ts';
import type { Life } from '../life/life.ts';
import { stepsOn } from '../life/operation-steps.ts';
import { failureOf } from '../saga/failure.ts';

/** Whether its disks refer to so many snapshots that it shall be brought to refer to its source alone. */
export function isChainTooLong({ chainLength, record }: Life): boolean {
  return chainLength > LONGEST_CHAIN && (record.state === 'running' || record.state === 'paused');
}

/**
 * Brings the disks of a living sandbox to refer to its source alone, beside whatever it does. It is no use of the sandbox,
 * and gives way: cancelled, it just ends, and what was asked for overtakes it on the host.
 */
export async function flattenDisks(life: Life, generation: number): Promise<void> {
  try {
    const { leantOn: chainLength } = await stepsOn(life, generation).flatten();
    life.chainLength = 0;
    if (chainLength > 0) await life.recordChange('sandbox.flattened', {}, { snapshots: chainLength });
  } catch (error) {
    if (isCancellation(error)) return;
    await life.recordChange('sandbox.flatten-failed', {}, { failure: failureOf(error, 'flatten') });
  }
}
