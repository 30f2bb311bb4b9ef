import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  proxyActivities,
} from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import type { SnapshotKind } from '../../model/snapshots/snapshot.ts';
import { refusal } from '../saga/failure.ts';
import type { Life } from './life.ts';
import { retryUntilDone, retryUntilDoneOrLeft } from './retry-until-done.ts';
import { hostSteps, stepOptions } from './steps.ts';

/** The steps of an operation, or of its undo, on the host that has the sandbox. */
export function stepsOn(life: Life, generation: number): OperationSteps {
  const { hostId } = life.record;
  if (hostId === null) throw refusal('internal', `${life.id} runs, but its record names no host.`);
  return operationSteps(life, hostId, generation);
}

/**
 * The steps of one operation on a living sandbox. They overtake those of earlier operations, and their undos overtake
 * them.
 */
function operationSteps(life: Life, hostId: string, generation: number) {
  const { id, timeouts } = life;
  const host = proxyActivities<HostActivities>({
    taskQueue: hostQueue(hostId),
    startToCloseTimeout: timeouts.cleanupMs,
  });
  const { bootDomain, awaitIp, signCertificate, verifySsh } = hostSteps(life, hostId, generation);
  const target = { sandboxId: id, generation };
  const step = (withinMs: number, what: string) => stepOptions(life, withinMs, what);
  const undo =
    (name: string, run: (options: ActivityOptions) => Promise<unknown>, hold = retryUntilDone): (() => Promise<void>) =>
    () =>
      life.timed(name, async () => void (await hold(life, `${name} on host ${hostId}`, run)));
  const newer = { ...target, generation: generation + 1 };

  return {
    hostId,
    bootDomain,
    awaitIp,
    signCertificate,
    verifySsh,

    saveSnapshot: (snapshotId: string, kind: SnapshotKind) =>
      life.timed('saveSnapshot', () =>
        host.saveSnapshot.executeWithOptions(step(timeouts.saveSnapshotMs, `${id} → ${snapshotId}`), [
          { ...target, snapshotId, kind },
        ]),
      ),
    verifySnapshot: (snapshotId: string) =>
      life.timed('verifySnapshot', () =>
        host.verifySnapshot.executeWithOptions(step(timeouts.verifySnapshotMs, snapshotId), [
          { ...target, snapshotId },
        ]),
      ),
    /** With {@link removeSnapshot} and {@link takeDomainAway} what take-back-save.ts consists of. */
    thaw: undo(
      'thaw',
      (options) => host.thaw.executeWithOptions({ ...options, summary: id }, [newer]),
      retryUntilDoneOrLeft,
    ),
    removeSnapshot: (snapshotId: string) =>
      undo(
        'removeSnapshot',
        (options) =>
          host.removeSnapshot.executeWithOptions({ ...options, summary: snapshotId }, [{ ...newer, snapshotId }]),
        retryUntilDoneOrLeft,
      )(),
    takeDomainAway: undo('removeDomain', (options) =>
      host.removeDomain.executeWithOptions({ ...options, summary: id }, [newer]),
    ),

    /** Nobody waits for it: it stays queued while the host is down. */
    flatten: () =>
      host.flatten.executeWithOptions(
        {
          summary: `${id} on ${hostId}`,
          startToCloseTimeout: timeouts.flattenMs,
          heartbeatTimeout: timeouts.heartbeatMs,
          cancellationType: ActivityCancellationType.TRY_CANCEL,
          retry: { initialInterval: '1s', maximumInterval: '1m', maximumAttempts: 8 },
        },
        [target],
      ),

    interruptCommands: undo('interruptCommands', (options) =>
      host.interruptCommands.executeWithOptions({ ...options, summary: id }, [target]),
    ),
    removeDomain: () =>
      life.timed('removeDomain', () =>
        host.removeDomain.executeWithOptions(step(timeouts.cleanupMs, `${id} on ${hostId}`), [target]),
      ),
    revertDisk: ({ snapshotId, restoreId }: { snapshotId: string; restoreId: string }) =>
      life.timed('revertDisk', () =>
        host.revertDisk.executeWithOptions(step(timeouts.revertDiskMs, `${snapshotId} → ${id}`), [
          { ...target, snapshotId, restoreId },
        ]),
      ),
    /** The host's own key to the sandbox; null when it has been removed. */
    ownPublicKey: async (): Promise<string | null> => {
      const { publicKey } = await life.timed('ownPublicKey', () =>
        host.ownPublicKey.executeWithOptions(step(timeouts.reserveMs, id), [{ sandboxId: id }]),
      );
      return publicKey;
    },

    pause: () => life.timed('pause', () => host.pause.executeWithOptions(step(timeouts.pauseMs, id), [target])),
    /** @throws ActivityFailure quota_exceeded, host_disk_full: what it would write has no room */
    resume: () =>
      life.timed('resume', () =>
        host.resume.executeWithOptions(step(timeouts.pauseMs, id), [{ ...target, onlyWithRoom: true }]),
      ),
    hibernate: () =>
      life.timed('hibernate', () => host.hibernate.executeWithOptions(step(timeouts.hibernateMs, id), [target])),
    wake: (wished: 'running' | 'paused') =>
      life.timed('wake', () => host.wake.executeWithOptions(step(timeouts.hibernateMs, id), [{ ...target, wished }])),
    yieldMemory: undo('yieldMemory', (options) =>
      host.yieldMemory.executeWithOptions({ ...options, summary: id }, [target]),
    ),
    retakeMemory: () =>
      life.timed('retakeMemory', () =>
        host.retakeMemory.executeWithOptions(step(timeouts.reserveMs, `${id} on ${hostId}`), [target]),
      ),
    takeBackPause: undo('resume', (options) =>
      unlessOff(host.resume.executeWithOptions({ ...options, summary: id }, [newer])),
    ),
    takeBackResume: undo('pause', (options) =>
      unlessOff(host.pause.executeWithOptions({ ...options, summary: id }, [newer])),
    ),
  };
}

export type OperationSteps = ReturnType<typeof operationSteps>;

/** A machine that went off by itself is neither paused nor to be resumed: there is nothing to take back. */
export async function unlessOff(undo: Promise<void>): Promise<void> {
  try {
    await undo;
  } catch (error) {
    const { cause } = error instanceof ActivityFailure ? error : {};
    if (!(cause instanceof ApplicationFailure && cause.type === 'sandbox_not_running')) throw error;
  }
}
