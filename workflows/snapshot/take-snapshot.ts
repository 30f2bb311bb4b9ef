import { isCancellation } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { SnapshotKind, SnapshotReason, SnapshotRecord, VerifiedSnapshot } from '../../model/snapshots/snapshot.ts';
import type { Life } from '../life/life.ts';
import type { OperationSteps } from '../life/operation-steps.ts';
import { endedMeanwhile, failureOf } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { saga } from '../saga/saga.ts';
import { snapshotRecords } from './snapshot-records.ts';
import { takeBackSave } from './take-back-save.ts';

interface SnapshotWish {
  id: string;
  name: string;
  kind: SnapshotKind;
  reason: SnapshotReason;
  /** `@default` it is no failed run's */
  keptOf?: NonNullable<SnapshotRecord['keptOf']>;
  actor: Actor;
}

/**
 * From a wish to a snapshot that is known to hold what the disks held:
 *
 *   record → saveSnapshot → verifySnapshot → ready
 *
 * When a step fails, or the sandbox ends meanwhile, the guest is thawed and what was saved is taken away, each until it
 * holds; only then is the snapshot called `failed`. The sandbox goes on as it was.
 * @param onRecorded hears when the store has its record
 */
export async function takeSnapshot(
  life: Life,
  host: OperationSteps,
  wish: SnapshotWish,
  onRecorded: () => void = () => {},
): Promise<SnapshotRecord> {
  const { id, name, kind, reason, actor } = wish;
  await snapshotRecords.begin(creating(life, host.host, wish));
  onRecorded();
  await life.recordChange('snapshot.requested', {}, { snapshotId: id, name, kind, reason }, actor);
  const { chainLength, ...saved } = await save(life, host, wish);
  life.chainLength = chainLength;
  const ready = await snapshotRecords.change(id, { state: 'ready', readyAt: now(), saved });
  await life.recordChange('snapshot.ready', { parentSnapshotId: id }, { snapshotId: id, ...saved });
  return ready;
}

async function save(life: Life, host: OperationSteps, { id, kind }: SnapshotWish): Promise<VerifiedSnapshot> {
  try {
    return await saga(async (undo) => {
      undo('saveSnapshot', () => takeBackSave(life, host, id));
      await host.saveSnapshot(id, kind);
      return await host.verifySnapshot(id);
    });
  } catch (error) {
    const failure = isCancellation(error) ? endedMeanwhile(life) : failureOf(error, life.failedStep);
    await snapshotRecords.change(id, { state: 'failed', failure });
    await life.recordChange('snapshot.failed', {}, { snapshotId: id, failure });
    throw error;
  }
}

function creating(
  life: Life,
  { hostId, installationId }: HostRef,
  { id, name, kind, reason, keptOf, actor }: SnapshotWish,
): SnapshotRecord {
  return {
    id,
    project: life.record.project,
    sandboxId: life.id,
    hostId,
    installationId,
    source: life.record.spec.source,
    name,
    kind,
    state: 'creating',
    reason,
    parentId: life.record.parentSnapshotId ?? null,
    network: life.record.spec.network,
    ...(life.record.size && { size: life.record.size }),
    createdBy: actor,
    createdAt: now(),
    readyAt: null,
    saved: null,
    failure: null,
    keptFor: null,
    ...(keptOf && { keptOf }),
  };
}
