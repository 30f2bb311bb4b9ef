import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { DEFAULT_TIMEOUTS } from '../../model/sandbox/timeouts.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { DeleteSnapshotInput } from '../../model/snapshots/snapshot-saga.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { refusedOrFailed } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { undoProfile } from '../saga/profiles.ts';
import { retryForever } from '../saga/retry-forever.ts';
import { snapshotRecords } from './snapshot-records.ts';

/**
 * Deletes a snapshot, with or without its sandbox:
 *
 *   deleting → removeSnapshot, until success → deleted
 *
 * Dependents keep the layers they need; the record then names the dependent.
 */
export async function deleteSnapshot(input: DeleteSnapshotInput): Promise<SnapshotRecord> {
  const { snapshotId, actor } = input;
  const record = await snapshotRecords.recall(snapshotId);
  if (record.state === 'deleted') return record;
  if (record.state === 'creating') {
    const message = `${snapshotId} is still being taken.`;
    return refusedOrFailed({ code: 'snapshot_not_ready', step: 'recallSnapshot', message }, ['recallSnapshot'], record);
  }
  await snapshotRecords.change(snapshotId, { state: 'deleting' });
  await appendEvent(record, 'snapshot.deleting', actor, {});
  const { keptFor } = await remove(input);
  const deleted = await snapshotRecords.change(snapshotId, { state: 'deleted', keptFor });
  await appendEvent(record, 'snapshot.deleted', actor, { keptFor });
  return deleted;
}

async function remove({ snapshotId, timeouts, ...host }: DeleteSnapshotInput): Promise<{ keptFor: string | null }> {
  const { taskPauseMs: pauseMs } = { ...DEFAULT_TIMEOUTS, ...timeouts };
  const summary = `${snapshotId} on ${host.hostId}`;
  // A target of its own: neither waits for the steps of its sandbox nor fences them off.
  const target = { sandboxId: snapshotId, generation: workflowInfo().startTime.getTime(), snapshotId };
  return retryForever('removeSnapshot', (n) => onHost(host, { ...undoProfile(n), summary }).removeSnapshot(target), {
    pauseMs,
    recordWaiting: (waitingFor) => setCurrentDetails(waitingFor ?? ''),
  });
}

async function appendEvent(
  { id, sandboxId, hostId }: SnapshotRecord,
  kind: AuditKind,
  actor: Actor,
  detail: Record<string, unknown>,
): Promise<void> {
  const event = auditEvent(kind, { kind, actor, hostId, detail: { snapshotId: id, ...detail } });
  await controlUntilDone.rememberEvent({ sandboxId, event });
}
