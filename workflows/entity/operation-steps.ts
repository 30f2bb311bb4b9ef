import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import { hostOf } from '../../model/sandbox/sandbox-state.ts';
import type { KeyToCertify } from '../../model/sandbox/signed-request.ts';
import type { SnapshotKind } from '../../model/snapshots/snapshot.ts';
import { refusal } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';
import type { SandboxEntity } from './entity.ts';
import { startSteps, stepsWithin, undosOn } from './steps.ts';

/** The steps of an operation, or of its undo, on the host that has the sandbox. */
export function stepsOn(entity: SandboxEntity, generation: number): OperationSteps {
  const host = hostOf(entity.record);
  if (host === null) throw refusal('internal', `${entity.id} runs, but its record names no host.`);
  return operationSteps(entity, host, generation);
}

/**
 * The steps of one operation on a living sandbox. They overtake those of earlier operations, and their undos overtake
 * them.
 */
function operationSteps(entity: SandboxEntity, host: HostRef, generation: number) {
  const { hostId } = host;
  const { id, timeouts } = entity;
  const target = { sandboxId: id, generation };
  const newer = { ...target, generation: generation + 1 };
  const step = stepsWithin(entity, host);
  const flattening = PROFILE.work(timeouts.flattenMs, { heartbeatMs: timeouts.heartbeatMs });
  const undo = undosOn(entity, host, `${id} on ${hostId}`);
  const undoUnlessOff = undosOn(entity, host, `${id} on ${hostId}`, unlessOff);

  return {
    ...startSteps(entity, host, generation),
    host,

    saveSnapshot: (snapshotId: string, kind: SnapshotKind) =>
      step(timeouts.saveSnapshotMs, `${id} → ${snapshotId}`).saveSnapshot({ ...target, snapshotId, kind }),
    verifySnapshot: (snapshotId: string) =>
      step(timeouts.verifySnapshotMs, snapshotId).verifySnapshot({ ...target, snapshotId }),
    /** With {@link removeSnapshot} and {@link undoDomain} what undo-save.ts consists of. */
    thaw: () => undo.thaw(newer),
    removeSnapshot: (snapshotId: string) => undo.removeSnapshot({ ...newer, snapshotId }),
    undoDomain: () => undo.removeDomain(newer),

    /** Nobody waits for it: it stays queued while the host is down. */
    flatten: () => onHost(host, { ...flattening, summary: `${id} on ${hostId}` }).flatten(target),
    findMachine: () =>
      onHost(host, PROFILE.probe(timeouts.reserveMs, timeouts.hostDownMs)).findMachine({ sandboxId: id }),

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
    undoPause: () => undoUnlessOff.resume(newer),
    undoResume: () => undoUnlessOff.pause(newer),
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
