import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import type { KeyToCertify } from '../../model/sandbox/signed-request.ts';
import type { SnapshotKind } from '../../model/snapshots/snapshot.ts';
import { refusal } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';
import type { SandboxEntity } from './entity.ts';
import { compensationsOn, startSteps, stepsWithin } from './steps.ts';

/** Returns the steps of an operation, or of its compensation, on the sandbox's host. */
export function stepsOn(entity: SandboxEntity, generation: number): OperationSteps {
  const host = getHost(entity.record);
  if (host === null) throw refusal('internal', `${entity.id} runs, but its record names no host.`);
  return operationSteps(entity, host, generation);
}

/**
 * Builds the steps of one operation on a living sandbox. Their generation fences off earlier operations, and the
 * compensations fence off the steps.
 */
function operationSteps(entity: SandboxEntity, host: HostRef, generation: number) {
  const { hostId } = host;
  const { id, timeouts } = entity;
  const target = { sandboxId: id, generation };
  const newer = { ...target, generation: generation + 1 };
  const step = stepsWithin(entity, host);
  const flattening = PROFILE.work(timeouts.flattenMs, { heartbeatMs: timeouts.heartbeatMs });
  const undo = compensationsOn(entity, host, `${id} on ${hostId}`);
  const compensateIfOn = compensationsOn(entity, host, `${id} on ${hostId}`, ignoreMachineOff);

  return {
    ...startSteps(entity, host, generation),
    host,

    saveSnapshot: (snapshotId: string, kind: SnapshotKind) =>
      step(timeouts.saveSnapshotMs, `${id} → ${snapshotId}`).saveSnapshot({ ...target, snapshotId, kind }),
    verifySnapshot: (snapshotId: string) =>
      step(timeouts.verifySnapshotMs, snapshotId).verifySnapshot({ ...target, snapshotId }),
    /** Compensates a save, with {@link removeSnapshot} and {@link undoDomain}: see undo-save.ts. */
    thaw: () => undo.thaw(newer),
    removeSnapshot: (snapshotId: string) => undo.removeSnapshot({ ...newer, snapshotId }),
    undoDomain: () => undo.removeDomain(newer),

    /** Flattens in the background: stays queued while the host is down. */
    flatten: () => onHost(host, { ...flattening, summary: `${id} on ${hostId}` }).flatten(target),
    findMachine: () =>
      onHost(host, PROFILE.probe(timeouts.reserveMs, timeouts.hostDownMs)).findMachine({ sandboxId: id }),

    interruptCommands: () => undo.interruptCommands(target),
    removeDomain: () => step(timeouts.cleanupMs, `${id} on ${hostId}`).removeDomain(target),
    revertDisk: ({ snapshotId, restoreId }: { snapshotId: string; restoreId: string }) =>
      step(timeouts.revertDiskMs, `${snapshotId} → ${id}`).revertDisk({ ...target, snapshotId, restoreId }),
    /** Returns the host's own key to the sandbox; null when it was removed. */
    ownKey: async (): Promise<KeyToCertify | null> => {
      const { publicKey, signature } = await step(timeouts.reserveMs, id).ownPublicKey({ sandboxId: id });
      return publicKey === null ? null : { publicKey, signature };
    },

    pause: () => step(timeouts.pauseMs, id).pause(target),
    /** @throws ActivityFailure quota_exceeded, host_disk_full: no room for its writes */
    resume: () => step(timeouts.pauseMs, id).resume({ ...target, onlyWithRoom: true }),
    hibernate: () => step(timeouts.hibernateMs, id).hibernate(target),
    wake: (wished: 'running' | 'paused') => step(timeouts.hibernateMs, id).wake({ ...target, wished }),
    yieldMemory: () => undo.yieldMemory(target),
    retakeMemory: () => step(timeouts.reserveMs, `${id} on ${hostId}`).retakeMemory(target),
    undoPause: () => compensateIfOn.resume(newer),
    undoResume: () => compensateIfOn.pause(newer),
  };
}

export type OperationSteps = ReturnType<typeof operationSteps>;

/** Ignores `sandbox_not_running`: a machine that went off needs no compensation of a pause or resume. */
export async function ignoreMachineOff<T>(undo: Promise<T>): Promise<T | undefined> {
  try {
    return await undo;
  } catch (error) {
    const { cause } = error instanceof ActivityFailure ? error : {};
    if (!(cause instanceof ApplicationFailure && cause.type === 'sandbox_not_running')) throw error;
    return undefined;
  }
}
