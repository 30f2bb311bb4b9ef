import { type ActivityOptions, log, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { DEFAULT_TIMEOUTS } from '../../model/sandbox/timeouts.ts';
import type { DeleteSnapshotInput, SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { brieflyFirst, optionsUntilDone } from '../life/retry-until-done.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { refusedOrFailed } from '../saga/refused.ts';
import { growing, untilDone } from '../saga/until-done.ts';
import { snapshotRecords } from './snapshot-records.ts';

/** A host that is down gets its work when it is back. */
const UNTIL_DONE = optionsUntilDone('2m');

/**
 * Takes a snapshot away, whether its sandbox still lives or not:
 *
 *   deleting → removeSnapshot, until it holds → deleted
 *
 * What refers to it keeps what it needs: then the record says for whom the host still keeps it.
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

async function remove({
  snapshotId,
  hostId,
  installationId = null,
  timeouts,
}: DeleteSnapshotInput): Promise<{ keptFor: string | null }> {
  const { taskPauseMs } = { ...DEFAULT_TIMEOUTS, ...timeouts };
  const summary = `${snapshotId} on ${hostId}`;
  const taskQueue = hostQueue({ hostId, installationId });
  const host = (options: ActivityOptions) => proxyActivities<HostActivities>({ ...options, summary, taskQueue });
  // Of its own: the steps of its sandbox, which may go on, are neither waited for nor overtaken.
  const target = { sandboxId: snapshotId, generation: workflowInfo().startTime.getTime(), snapshotId };
  const onFailure = (error: unknown) => {
    const { message } = failureOf(error, 'removeSnapshot');
    log.warn('a snapshot is not removed yet', { snapshotId, why: message });
    setCurrentDetails(`waiting for ${hostId}: ${message}`);
  };
  return untilDone(
    (n) => host(n === 1 ? brieflyFirst(UNTIL_DONE) : UNTIL_DONE).removeSnapshot(target),
    onFailure,
    growing(taskPauseMs),
  );
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
