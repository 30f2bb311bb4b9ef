import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { Life } from '../life/life.ts';
import type { OperationSteps } from '../life/operation-steps.ts';
import { refusal } from '../saga/failure.ts';
import { retryForever } from '../saga/retry-forever.ts';

/** Disks that a sandbox is given, and the restore that does so. */
export interface Disks {
  snapshotId: string;
  restoreId: string;
}

/**
 * Starts a sandbox that was off, and proves that it works; where it can be reached then.
 * @param start `@default` boots it from the disks that it has
 */
export async function startAgain(
  life: Life,
  host: OperationSteps,
  start: () => Promise<void> = host.bootDomain,
): Promise<SshEndpoint> {
  const { ssh } = life.record;
  const key = await host.ownKey();
  if (!ssh || key === null) throw refusal('internal', `${life.id} ran, but has no key or no address.`);
  await start();
  const { address, port } = await host.awaitIp();
  const { certificate } = await host.signCertificate(key);
  const endpoint = { ...ssh, address, port };
  await host.verifySsh(endpoint, certificate);
  return endpoint;
}

/**
 * Brings back a sandbox whose restore went wrong; tried until it works, or until the sandbox ends.
 * @param disks null: those that it has
 * @throws CancelledFailure when the sandbox ends
 */
export function bringBack(life: Life, host: OperationSteps, disks: Disks | null): Promise<SshEndpoint> {
  return untilItWorks(life, host, async () => {
    await host.removeDomain();
    if (disks) await host.revertDisk(disks);
    return startAgain(life, host);
  });
}

/**
 * Retries until it works; the record says what is waited for.
 * @throws CancelledFailure when the sandbox ends
 */
export async function untilItWorks<T>(life: Life, host: OperationSteps, attempt: () => Promise<T>): Promise<T> {
  const { failedStep } = life; // the one that made this necessary
  const result = await retryForever(() => `${life.failedStep} on host ${host.host.hostId}`, attempt, {
    pauseMs: life.timeouts.cleanupPauseMs,
    recordWaiting: (waitingFor) => life.recordChange('sandbox.cleanup', { waitingFor }, { waitingFor }),
  });
  life.failedStep = failedStep;
  return result;
}
