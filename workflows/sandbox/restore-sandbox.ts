import { isCancellation } from '@temporalio/workflow';
import type { RestoreOperation } from '../../model/sagas/messages.ts';
import type { SandboxFailure, SandboxRecord, SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { renewTrust } from '../access/renew-trust.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { type OperationSteps, stepsOn } from '../entity/operation-steps.ts';
import { failureOf } from '../saga/failure.ts';
import { snapshotRecords } from '../snapshot/snapshot-records.ts';
import { takeSnapshot } from '../snapshot/take-snapshot.ts';
import { NOT_SUSPENDED_FOR_SPACE } from './pause-sandbox.ts';
import { type Disks, restartMachine, rollBackRestore } from './roll-back-restore.ts';

/**
 * Restores a sandbox to one of its snapshots; id, name, address and credentials stay:
 *
 *   verifySnapshot → keep the current disks → interruptCommands → removeDomain → revertDisk → bootDomain → awaitIp → verifySsh → trust → running
 *
 * Logins are refused from its start, so no acknowledged write is lost. A failure before the machine is off leaves it
 * unchanged; a later one rolls back to the kept snapshot or, without one, retries the restore until success. The
 * sandbox's end cuts it short.
 */
export async function restoreSandbox(
  entity: SandboxEntity,
  operation: RestoreOperation,
  generation: number,
  accept: () => void,
): Promise<void> {
  const { operationId, snapshotId, keepAs, actor } = operation;
  const { state } = entity.record;
  const host = stepsOn(entity, generation);
  await snapshotRecords.checkRestorable(snapshotId, entity.id);
  await entity.recordChange('sandbox.state', { state: 'restoring' }, { operationId, snapshotId, keepAs }, actor);
  accept();
  try {
    await host.verifySnapshot(snapshotId);
    if (keepAs !== null)
      await takeSnapshot(entity, host, { id: keepAs, name: keepAs, kind: 'disk', reason: 'before-restore', actor });
  } catch (error) {
    if (!isCancellation(error)) await recordFailed(entity, operation, failureOf(error, entity.failedStep), { state });
    throw error;
  }
  await host.interruptCommands();
  await restoreDisks(entity, host, operation, generation);
}

/** Restores the disks. From here on the machine goes off, and is started again in any case. */
async function restoreDisks(
  entity: SandboxEntity,
  host: OperationSteps,
  operation: RestoreOperation,
  generation: number,
): Promise<void> {
  const { operationId: restoreId, snapshotId } = operation;
  try {
    await host.removeDomain();
    await host.revertDisk({ snapshotId, restoreId });
    const ssh = await restartMachine(entity, host);
    await recordRestored(entity, operation, ssh);
  } catch (error) {
    if (isCancellation(error)) throw error;
    const failure = failureOf(error, entity.failedStep);
    const disks = disksAfter(failure, operation);
    const ssh = await rollBackRestore(entity, stepsOn(entity, generation + 1), disks);
    if (disks?.snapshotId === snapshotId) return recordRestored(entity, operation, ssh);
    await renewGuestTrust(entity);
    await recordFailed(entity, operation, failure, { state: 'running', phase: null, ssh, ...NOT_SUSPENDED_FOR_SPACE });
    throw error;
  }
}

/** Codes with which a host refuses a restore without effects. */
const REFUSAL_CODES: ReadonlySet<string> = new Set([
  'snapshot_not_found',
  'snapshot_not_ready',
  'source_changed',
  'restore_failed',
]);

/** Returns the disks for a rollback; null: the current ones. */
function disksAfter(
  { step, code }: SandboxFailure,
  { operationId, snapshotId, keepAs }: RestoreOperation,
): Disks | null {
  const isUntouched = step === 'removeDomain' || (step === 'revertDisk' && REFUSAL_CODES.has(code));
  if (isUntouched) return null;
  if (keepAs === null) return { snapshotId, restoreId: operationId };
  return { snapshotId: keepAs, restoreId: `${operationId}-back` };
}

/** Renews the guest's trust. From here on the host admits its own connections: their writes are not lost. */
async function renewGuestTrust(entity: SandboxEntity): Promise<void> {
  await entity.recordChange('sandbox.state', { state: 'restoring', phase: 'renewing-trust' });
  await renewTrust(entity);
}

async function recordRestored(
  entity: SandboxEntity,
  { operationId, snapshotId, keepAs, actor }: RestoreOperation,
  ssh: SshEndpoint,
): Promise<void> {
  await renewGuestTrust(entity);
  await entity.recordChange(
    'sandbox.restored',
    {
      state: 'running',
      phase: null,
      ssh,
      parentSnapshotId: snapshotId,
      restoreId: operationId,
      ...NOT_SUSPENDED_FOR_SPACE,
    },
    { operationId, snapshotId, keptAs: keepAs },
    actor,
  );
}

async function recordFailed(
  entity: SandboxEntity,
  { operationId, snapshotId }: RestoreOperation,
  failure: SandboxFailure,
  changes: Pick<SandboxRecord, 'state'> & Partial<SandboxRecord>,
): Promise<void> {
  await entity.recordChange('sandbox.restore-failed', changes, { operationId, snapshotId, failure });
}
