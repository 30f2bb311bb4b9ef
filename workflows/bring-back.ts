import { isCancellation, sleep } from '@temporalio/workflow';
import type { SshEndpoint } from '../model/sandbox.ts';
import { failureOf, refusal } from './failure.ts';
import type { Life } from './life.ts';
import type { OperationSteps } from './operation-steps.ts';

/** Disks that a sandbox is given, and the restore that does so. */
export interface Disks {
  snapshotId: string;
  restoreId: string;
}

/** Milliseconds. */
const LONGEST_PAUSE_MS = 300_000;

/** Boots a sandbox from the disks that it has, and proves that it works; where it can be reached then. */
export async function startAgain(life: Life, host: OperationSteps): Promise<SshEndpoint> {
  const { ssh } = life.record;
  const publicKey = await host.ownPublicKey();
  if (!ssh || publicKey === null) throw refusal('internal', `${life.id} ran, but has no key or no address.`);
  await host.bootDomain();
  const { address, port } = await host.awaitIp();
  const { certificate } = await host.signCertificate(publicKey);
  const endpoint = { ...ssh, address, port };
  await host.verifySsh(endpoint, certificate);
  return endpoint;
}

/**
 * Brings back a sandbox whose restore went wrong; tried until it works, or until the sandbox ends.
 * @param disks null: those that it has
 * @throws CancelledFailure when the sandbox ends
 */
export async function bringBack(life: Life, host: OperationSteps, disks: Disks | null): Promise<SshEndpoint> {
  let told = '';
  for (let pauseMs = life.timeouts.cleanupPauseMs; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      await host.removeDomain();
      if (disks) await host.revertDisk(disks);
      return await startAgain(life, host);
    } catch (err) {
      if (isCancellation(err)) throw err;
      const { step, message } = failureOf(err, life.failedStep);
      const waitingFor = `${step} on host ${host.hostId}: ${message}`;
      if (waitingFor !== told) await life.tell('sandbox.cleanup', { waitingFor }, { step, message });
      told = waitingFor;
      await sleep(pauseMs);
    }
  }
}
