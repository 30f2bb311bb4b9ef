import { condition, continueAsNew, defineSignal, setCurrentDetails, setHandler, sleep } from '@temporalio/workflow';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import {
  DELETE_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  RELEASED,
  snapshotWorkflowId,
} from '../../model/snapshots/snapshot-saga.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { shouldContinueAsNew } from '../saga/continue-as-new.ts';
import { failureOf } from '../saga/failure.ts';
import { layerDeleted } from '../saga/messages.ts';
import { startUnlessPresent, trySignal } from '../saga/subscription.ts';
import type { deleteSnapshot } from './delete-snapshot.ts';
import { snapshotRecords } from './snapshot-records.ts';

const passed = defineSignal(RELEASED);

/** Maximum lifetime: the diff of a snapshot times out after two minutes. Milliseconds. */
const LONGEST_MS = 600_000;
/**
 * Pauses between two polls of a snapshot that is being taken, or deleted by another workflow; they double.
 * Milliseconds.
 */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Guarantees that an ephemeral snapshot is deleted, even when its user fails:
 *
 *   released, or {@link LONGEST_MS} passed → no longer `creating` → deleteSnapshot, until deleted
 *
 * It starts before the snapshot, which may never be taken; once the time has passed, none can start any longer.
 */
export async function ephemeralSnapshot({ withinMs = LONGEST_MS, ...input }: EphemeralSnapshotInput): Promise<void> {
  let isReleased = false;
  const release = () => {
    isReleased = true;
  };
  setHandler(passed, release);
  whenCancelled(release);
  await condition(() => isReleased, withinMs);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const record = await findRecord(input.snapshotId);
    if (!record || record.state === 'failed' || record.state === 'deleted') return;
    if (record.state !== 'creating') {
      const workflowId = snapshotWorkflowId(input.snapshotId);
      const options = { workflowId, args: [input] as [typeof input] };
      const deletion = await startUnlessPresent<typeof deleteSnapshot>(DELETE_SNAPSHOT_WORKFLOW, options);
      await deletion?.result();
      // A living sandbox still refers to it, and flattens its disks before its next operation.
      if (deletion) return void (await trySignal(sandboxWorkflowId(record.sandboxId), layerDeleted));
    }
    setCurrentDetails(`${input.snapshotId} is ${record.state}`);
    await sleep(pause);
    if (shouldContinueAsNew()) await continueAsNew<typeof ephemeralSnapshot>({ ...input, withinMs: 1 });
  }
}

async function findRecord(snapshotId: string): Promise<SnapshotRecord | null> {
  try {
    return await snapshotRecords.recall(snapshotId);
  } catch (error) {
    if (failureOf(error, 'recallSnapshot').code === 'snapshot_not_found') return null;
    throw error;
  }
}
