import { isCancellation } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { SnapshotKind, SnapshotReason, SnapshotRecord, VerifiedSnapshot } from '../../model/snapshots/snapshot.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import type { OperationSteps } from '../entity/operation-steps.ts';
import { failureOf, sandboxEndedFailure } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { saga } from '../saga/saga.ts';
import { snapshotRecords } from './snapshot-records.ts';
import { undoSave } from './undo-save.ts';

interface SnapshotRequest {
  id: string;
  name: string;
  kind: SnapshotKind;
  reason: SnapshotReason;
  /** Failed run whose disks it retains. `@default` none */
  keptOf?: NonNullable<SnapshotRecord['keptOf']>;
  actor: Actor;
}

/**
 * Takes a snapshot and verifies that it holds the disks' data:
 *
 *   record → saveSnapshot → verifySnapshot → ready
 *
 * When a step fails, or the sandbox ends, the guest is thawed and saved data removed, each until success; only then is
 * the snapshot `failed`. The sandbox keeps running.
 * @param onRecorded called when the store has its record
 */
export async function takeSnapshot(
  entity: SandboxEntity,
  host: OperationSteps,
  request: SnapshotRequest,
  onRecorded: () => void = () => {},
): Promise<SnapshotRecord> {
  const { id, name, kind, reason, actor } = request;
  await snapshotRecords.begin(newRecord(entity, host.host, request));
  onRecorded();
  await entity.recordChange('snapshot.requested', {}, { snapshotId: id, name, kind, reason }, actor);
  const { chainLength, ...saved } = await save(entity, host, request);
  entity.state.chainLength = chainLength;
  const ready = await snapshotRecords.change(id, { state: 'ready', readyAt: now(), saved });
  await entity.recordChange('snapshot.ready', { parentSnapshotId: id }, { snapshotId: id, ...saved });
  return ready;
}

async function save(
  entity: SandboxEntity,
  host: OperationSteps,
  { id, kind }: SnapshotRequest,
): Promise<VerifiedSnapshot> {
  try {
    return await saga(async (undo) => {
      undo('saveSnapshot', () => undoSave(entity, host, id));
      await host.saveSnapshot(id, kind);
      return await host.verifySnapshot(id);
    });
  } catch (error) {
    const failure = isCancellation(error) ? sandboxEndedFailure(entity) : failureOf(error, entity.failedStep);
    await snapshotRecords.change(id, { state: 'failed', failure });
    await entity.recordChange('snapshot.failed', {}, { snapshotId: id, failure });
    throw error;
  }
}

function newRecord(
  entity: SandboxEntity,
  { hostId, installationId }: HostRef,
  { id, name, kind, reason, keptOf, actor }: SnapshotRequest,
): SnapshotRecord {
  return {
    id,
    project: entity.record.project,
    sandboxId: entity.id,
    hostId,
    installationId,
    source: entity.record.spec.source,
    name,
    kind,
    state: 'creating',
    reason,
    parentId: entity.record.parentSnapshotId ?? null,
    network: entity.record.spec.network,
    ...(entity.record.size && { size: entity.record.size }),
    createdBy: actor,
    createdAt: now(),
    readyAt: null,
    saved: null,
    failure: null,
    keptFor: null,
    ...(keptOf && { keptOf }),
  };
}
