import { condition, continueAsNew, defineSignal, setCurrentDetails, setHandler, sleep } from '@temporalio/workflow';
import { workflowIdOf } from '../../model/sagas/queues.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import {
  DELETE_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  RELEASED,
  snapshotWorkflowIdOf,
} from '../../model/snapshots/snapshot-saga.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { shallContinue } from '../saga/continue-as-new.ts';
import { failureOf } from '../saga/failure.ts';
import { layerDeleted } from '../saga/messages.ts';
import { startUnlessPresent, trySignal } from '../saga/subscription.ts';
import type { deleteSnapshot } from './delete-snapshot.ts';
import { snapshotRecords } from './snapshot-records.ts';

const passed = defineSignal(RELEASED);

/** More than a comparison takes, from the snapshot it needs to the last line: diff/ gives up after two minutes. Milliseconds. */
const LONGEST_MS = 600_000;
/** Between two looks at a snapshot that is still being taken, or deleted by somebody else; doubles. Milliseconds. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Sees to it that a snapshot which is taken for a moment goes away, whatever becomes of who needs it:
 *
 *   told, or {@link LONGEST_MS} are over → no longer `creating` → deleteSnapshot, until it is gone
 *
 * It is started before the snapshot is, so there may never be one: that is not begun any more long before the time is over.
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
    const record = await present(input.snapshotId);
    if (!record || record.state === 'failed' || record.state === 'deleted') return;
    if (record.state !== 'creating') {
      const workflowId = snapshotWorkflowIdOf(input.snapshotId);
      const options = { workflowId, args: [input] as [typeof input] };
      const deletion = await startUnlessPresent<typeof deleteSnapshot>(DELETE_SNAPSHOT_WORKFLOW, options);
      await deletion?.result();
      // its sandbox still refers to it, when it lives: it flattens its disks before anything else does
      if (deletion) return void (await trySignal(workflowIdOf(record.sandboxId), layerDeleted));
    }
    setCurrentDetails(`${input.snapshotId} is ${record.state}`);
    await sleep(pause);
    if (shallContinue()) await continueAsNew<typeof ephemeralSnapshot>({ ...input, withinMs: 1 });
  }
}

async function present(snapshotId: string): Promise<SnapshotRecord | null> {
  try {
    return await snapshotRecords.recall(snapshotId);
  } catch (error) {
    if (failureOf(error, 'recallSnapshot').code === 'snapshot_not_found') return null;
    throw error;
  }
}
