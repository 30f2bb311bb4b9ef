import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import type { OperationSteps } from '../entity/operation-steps.ts';
import { refusal } from '../saga/failure.ts';
import { retryForever } from '../saga/retry-forever.ts';

/** Disks for a sandbox, and the restore that attaches them. */
export interface Disks {
  snapshotId: string;
  restoreId: string;
}

/**
 * Starts a sandbox that was off, and verifies it.
 * @returns its SSH endpoint
 * @param start `@default` boots from the current disks
 */
export async function restartMachine(
  entity: SandboxEntity,
  host: OperationSteps,
  start: () => Promise<void> = host.bootDomain,
): Promise<SshEndpoint> {
  const { ssh } = entity.record;
  const key = await host.ownKey();
  if (!ssh || key === null) throw refusal('internal', `${entity.id} ran, but has no key or no address.`);
  await start();
  const { address, port } = await host.awaitIp();
  const { certificate } = await host.signCertificate(key);
  const endpoint = { ...ssh, address, port };
  await host.verifySsh(endpoint, certificate);
  return endpoint;
}

/**
 * Rolls back a failed restore, retried until success or the sandbox's end.
 * @param disks null: the current ones
 * @throws CancelledFailure when the sandbox ends
 */
export function rollBackRestore(
  entity: SandboxEntity,
  host: OperationSteps,
  disks: Disks | null,
): Promise<SshEndpoint> {
  return retryUntilHealthy(entity, host, async () => {
    await host.removeDomain();
    if (disks) await host.revertDisk(disks);
    return restartMachine(entity, host);
  });
}

/** Retries until success; the record shows the reason. @throws CancelledFailure when the sandbox ends */
export async function retryUntilHealthy<T>(
  entity: SandboxEntity,
  host: OperationSteps,
  attempt: () => Promise<T>,
): Promise<T> {
  const { failedStep } = entity; // step that caused this compensation
  const result = await retryForever(() => `${entity.failedStep} on host ${host.host.hostId}`, attempt, {
    pauseMs: entity.timeouts.cleanupPauseMs,
    recordWaiting: (waitingFor) => entity.recordChange('sandbox.cleanup', { waitingFor }, { waitingFor }),
  });
  entity.failedStep = failedStep;
  return result;
}
