import { isCancellation } from '@temporalio/workflow';
import { LONGEST_CHAIN } from '../../model/snapshots/snapshot-saga.ts';
import type { Life } from '../life/life.ts';
import { stepsOn } from '../life/operation-steps.ts';
import { failureOf } from '../saga/failure.ts';

/** Whether its disks refer to so many snapshots that it shall be brought to refer to its source alone, or to one that was needed for a moment. */
export function areLayersToGo({ chainLength, hasDeletedLayer, record }: Life): boolean {
  const isAsked = chainLength > LONGEST_CHAIN || hasDeletedLayer;
  return isAsked && (record.state === 'running' || record.state === 'paused');
}

/**
 * Brings the disks of a living sandbox to refer to its source alone, or to no deleted snapshot, beside whatever it does. It is
 * no use of the sandbox, and gives way: cancelled, it just ends, and what was asked for overtakes it on the host.
 */
export async function flattenDisks(life: Life, generation: number): Promise<void> {
  try {
    const { leantOn, merged = life.chainLength } = await stepsOn(life, generation).flatten();
    life.chainLength = leantOn > 0 ? 0 : Math.max(0, life.chainLength - merged);
    life.hasDeletedLayer = false;
    const snapshots = leantOn > 0 ? leantOn : merged;
    if (snapshots > 0) await life.recordChange('sandbox.flattened', {}, { snapshots });
  } catch (error) {
    if (isCancellation(error)) return;
    life.hasDeletedLayer = false;
    await life.recordChange('sandbox.flatten-failed', {}, { failure: failureOf(error, 'flatten') });
  }
}
