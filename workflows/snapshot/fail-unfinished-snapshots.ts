import { CLEANUP_GENERATION } from '../../model/sagas/queues.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { stepsOn } from '../entity/operation-steps.ts';
import { sandboxEndedFailure } from '../saga/failure.ts';
import { snapshotRecords } from './snapshot-records.ts';
import { undoSave } from './undo-save.ts';

/** Removes the snapshots that the sandbox's lost workflow left unfinished. */
export async function failUnfinishedSnapshots(entity: SandboxEntity): Promise<void> {
  for (const { id } of await snapshotRecords.unfinished(entity.id)) {
    const host = stepsOn(entity, CLEANUP_GENERATION - 1); // so its compensations have the generation of the cleanup
    await undoSave(entity, host, id);
    const failure = sandboxEndedFailure(entity);
    await snapshotRecords.change(id, { state: 'failed', failure });
    await entity.recordChange('snapshot.failed', {}, { snapshotId: id, failure });
  }
}
