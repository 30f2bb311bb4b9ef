import { ActivityCancellationType, ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import type { HostRef } from '../../model/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import { readable } from '../../model/sagas/readable.ts';
import { hostOf } from '../../model/sandbox/sandbox.ts';
import type { KeyToCertify } from '../../model/sandbox/signed-request.ts';
import type { SnapshotKind } from '../../model/snapshots/snapshot.ts';
import { refusal } from '../saga/failure.ts';
import type { Life } from './life.ts';
import { retryUntilDone, retryUntilDoneOrLeft } from './retry-until-done.ts';
import { startSteps, stepsUntilDone, stepsWithin } from './steps.ts';

/** The steps of an operation, or of its undo, on the host that has the sandbox. */
export function stepsOn(life: Life, generation: number): OperationSteps {
  const host = hostOf(life.record);
  if (host === null) throw refusal('internal', `${life.id} runs, but its record names no host.`);
  return operationSteps(life, host, generation);
}

/**
 * The steps of one operation on a living sandbox. They overtake those of earlier operations, and their undos overtake
 * them.
 */
function operationSteps(life: Life, host: HostRef, generation: number) {
  const { hostId } = host;
  const { id, timeouts } = life;
  const target = { sandboxId: id, generation };
  const newer = { ...target, generation: generation + 1 };
  const step = stepsWithin(life, host);
  const undo = stepsUntilDone(life, host, id);
  const undoUnlessOff = stepsUntilDone(life, host, id, (about, what, run) =>
    retryUntilDone(about, what, (options) => unlessOff(run(options))),
  );

  return {
    ...startSteps(life, host, generation),
    host,

    saveSnapshot: (snapshotId: string, kind: SnapshotKind) =>
      step(timeouts.saveSnapshotMs, `${id} → ${snapshotId}`).saveSnapshot({ ...target, snapshotId, kind }),
    verifySnapshot: (snapshotId: string) =>
      step(timeouts.verifySnapshotMs, snapshotId).verifySnapshot({ ...target, snapshotId }),
    /** With {@link removeSnapshot} and {@link takeDomainAway} what take-back-save.ts consists of. */
    thaw: () => stepsUntilDone(life, host, id, retryUntilDoneOrLeft).thaw(newer),
    removeSnapshot: (snapshotId: string) =>
      stepsUntilDone(life, host, snapshotId, retryUntilDoneOrLeft).removeSnapshot({ ...newer, snapshotId }),
    takeDomainAway: () => undo.removeDomain(newer),

    /** Nobody waits for it: it stays queued while the host is down. */
    flatten: () =>
      proxyActivities<HostActivities>({
        taskQueue: hostQueue(host),
        summary: readable(`${id} on ${hostId}`),
        startToCloseTimeout: timeouts.flattenMs,
        heartbeatTimeout: timeouts.heartbeatMs,
        cancellationType: ActivityCancellationType.TRY_CANCEL,
        retry: { initialInterval: '1s', maximumInterval: '1m', maximumAttempts: 8 },
      }).flatten(target),

    /** What there is of its machine. */
    findMachine: () =>
      proxyActivities<HostActivities>({
        taskQueue: hostQueue(host),
        summary: readable(`${id} on ${hostId}`),
        scheduleToStartTimeout: timeouts.hostDownMs,
        startToCloseTimeout: timeouts.reserveMs,
        retry: { maximumAttempts: 3 },
      }).findMachine({ sandboxId: id }),

    interruptCommands: () => undo.interruptCommands(target),
    removeDomain: () => step(timeouts.cleanupMs, `${id} on ${hostId}`).removeDomain(target),
    revertDisk: ({ snapshotId, restoreId }: { snapshotId: string; restoreId: string }) =>
      step(timeouts.revertDiskMs, `${snapshotId} → ${id}`).revertDisk({ ...target, snapshotId, restoreId }),
    /** The host's own key to the sandbox; null when it has been removed. */
    ownKey: async (): Promise<KeyToCertify | null> => {
      const { publicKey, signature } = await step(timeouts.reserveMs, id).ownPublicKey({ sandboxId: id });
      return publicKey === null ? null : { publicKey, signature };
    },

    pause: () => step(timeouts.pauseMs, id).pause(target),
    /** @throws ActivityFailure quota_exceeded, host_disk_full: what it would write has no room */
    resume: () => step(timeouts.pauseMs, id).resume({ ...target, onlyWithRoom: true }),
    hibernate: () => step(timeouts.hibernateMs, id).hibernate(target),
    wake: (wished: 'running' | 'paused') => step(timeouts.hibernateMs, id).wake({ ...target, wished }),
    yieldMemory: () => undo.yieldMemory(target),
    retakeMemory: () => step(timeouts.reserveMs, `${id} on ${hostId}`).retakeMemory(target),
    takeBackPause: () => undoUnlessOff.resume(newer),
    takeBackResume: () => undoUnlessOff.pause(newer),
  };
}

export type OperationSteps = ReturnType<typeof operationSteps>;

/** A machine that went off by itself is neither paused nor to be resumed: there is nothing to take back. */
export async function unlessOff<T>(undo: Promise<T>): Promise<T | undefined> {
  try {
    return await undo;
  } catch (error) {
    const { cause } = error instanceof ActivityFailure ? error : {};
    if (!(cause instanceof ApplicationFailure && cause.type === 'sandbox_not_running')) throw error;
    return undefined;
  }
}
