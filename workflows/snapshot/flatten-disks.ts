import { isCancellation } from '@temporalio/workflow';
import { LONGEST_CHAIN } from '../../model/snapshots/snapshot-saga.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { stepsOn } from '../entity/operation-steps.ts';
import { failureOf } from '../saga/failure.ts';

/** Its disks refer to too many snapshots, or to an ephemeral one that is deleted, and can be flattened now. */
export function needsFlatten({ state: { chainLength, hasDeletedLayer, record } }: SandboxEntity): boolean {
  const isDue = chainLength > LONGEST_CHAIN || hasDeletedLayer;
  return isDue && (record.state === 'running' || record.state === 'paused');
}

/**
 * Brings the disks of a living sandbox to refer to its source alone, or to no deleted snapshot. It is no use of the sandbox:
 * cancelled, it just ends, and the next operation overtakes it on the host.
 */
export async function flattenDisks(entity: SandboxEntity): Promise<void> {
  const { state, generation } = entity;
  try {
    // between the latest operation's generation and the next one's
    const host = stepsOn(entity, generation === 0 ? 0 : generation + 1);
    const { leantOn, merged = state.chainLength } = await host.flatten();
    state.chainLength = leantOn > 0 ? 0 : Math.max(0, state.chainLength - merged);
    state.hasDeletedLayer = false;
    const snapshots = leantOn > 0 ? leantOn : merged;
    if (snapshots > 0) await entity.recordChange('sandbox.flattened', {}, { snapshots });
  } catch (error) {
    if (isCancellation(error)) return;
    state.hasDeletedLayer = false;
    await entity.recordChange('sandbox.flatten-failed', {}, { failure: failureOf(error, 'flatten') });
  }
}
