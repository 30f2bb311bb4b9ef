import { isCancellation } from '@temporalio/workflow';
import { LONGEST_CHAIN } from '../../model/snapshots/snapshot.ts';
import type { Life } from '../life/life.ts';
import { stepsOn } from '../life/operation-steps.ts';
import { failureOf } from '../saga/failure.ts';

/** Whether its disks lean on so many snapshots that it shall be brought to lean on its source alone. */
export function isChainTooLong({ chainLength, record }: Life): boolean {
  return chainLength > LONGEST_CHAIN && (record.state === 'running' || record.state === 'paused');
}

/**
 * Brings the disks of a living sandbox to lean on its source alone, beside whatever it does. It is no use of the sandbox,
 * and gives way: cancelled, it just ends, and what was asked for overtakes it on the host.
 */
export async function flattenDisks(life: Life, generation: number): Promise<void> {
  try {
    const { leantOn } = await stepsOn(life, generation).flatten();
    life.chainLength = 0;
    if (leantOn > 0) await life.tell('sandbox.flattened', {}, { snapshots: leantOn });
  } catch (err) {
    if (isCancellation(err)) return;
    await life.tell('sandbox.flatten-failed', {}, { failure: failureOf(err, 'flatten') });
  }
}
