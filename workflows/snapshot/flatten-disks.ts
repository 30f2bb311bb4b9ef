import { isCancellation } from '@temporalio/workflow';
import { LONGEST_CHAIN } from '../../model/snapshots/snapshot-saga.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { stepsOn } from '../entity/operation-steps.ts';
import { failureOf } from '../saga/failure.ts';

/** Reports whether the disks depend on too many snapshots, or on a deleted ephemeral one, and can be flattened now. */
export function needsFlatten({ state: { chainLength, hasDeletedLayer, record } }: SandboxEntity): boolean {
  const isDue = chainLength > LONGEST_CHAIN || hasDeletedLayer;
  return isDue && (record.state === 'running' || record.state === 'paused');
}

/**
 * Flattens the disks of a living sandbox, to depend on its source alone, or on no deleted snapshot. Not a use of the
 * sandbox: a cancel just ends it, and the next operation fences it off on the host.
 */
export async function flattenDisks(entity: SandboxEntity): Promise<void> {
  const { state, generation } = entity;
  try {
    // between the generations of the latest and the next operation
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
