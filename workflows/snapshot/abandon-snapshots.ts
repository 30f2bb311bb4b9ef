import { CLEANUP_GENERATION } from '../../model/sagas/queues.ts';
import type { Life } from '../life/life.ts';
import { stepsOn } from '../life/operation-steps.ts';
import { endedMeanwhile } from '../saga/failure.ts';
import { snapshotRecords } from './snapshot-records.ts';
import { takeBackSave } from './take-back-save.ts';

/** Takes back the snapshots that the sandbox's own workflow, which is gone, has left half made. */
export async function abandonSnapshots(life: Life): Promise<void> {
  for (const { id } of await snapshotRecords.unfinished(life.id)) {
    const host = stepsOn(life, CLEANUP_GENERATION - 1); // its undos then are of the cleanup
    await takeBackSave(life, host, id);
    const failure = endedMeanwhile(life);
    await snapshotRecords.change(id, { state: 'failed', failure });
    await life.recordChange('snapshot.failed', {}, { snapshotId: id, failure });
  }
}
