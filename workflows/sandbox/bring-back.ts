import { isCancellation, workflowInfo } from '@temporalio/workflow';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { Life } from '../life/life.ts';
import type { OperationSteps } from '../life/operation-steps.ts';
import { failureOf, refusal } from '../saga/failure.ts';
import { growing, untilDone } from '../saga/until-done.ts';

/**
 * In the middle of an operation a run does not continue as new. After a day of attempts, at some forty events each, those
 * that follow are so rare that the longest TTL is over before its history is full. Milliseconds.
 */
const RARE_MS = 3_600_000;
const LONG_HISTORY = 10_000;

function isLong(): boolean {
  return workflowInfo().historyLength > LONG_HISTORY;
}

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
 * Tries until it works, or until the sandbox ends. The record says meanwhile what it waits for, and afterwards too.
 * @throws CancelledFailure when the sandbox ends
 */
export async function untilItWorks<T>(life: Life, host: OperationSteps, attempt: () => Promise<T>): Promise<T> {
  const { failedStep } = life; // the one that made this necessary
  let recorded = '';
  const onFailure = async (error: unknown) => {
    if (isCancellation(error)) throw error;
    const { step, message } = failureOf(error, life.failedStep);
    const waitingFor = `${step} on host ${host.host.hostId}: ${message}`;
    if (waitingFor !== recorded) await life.recordChange('sandbox.cleanup', { waitingFor }, { step, message });
    recorded = waitingFor;
  };
  const pauseMs = growing(life.timeouts.cleanupPauseMs);
  const result = await untilDone(attempt, onFailure, (n) => (isLong() ? RARE_MS : pauseMs(n)));
  life.failedStep = failedStep;
  return result;
}
