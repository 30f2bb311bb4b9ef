import type { PauseOperation, SuspendForSpaceOperation } from '../../model/sagas/messages.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { stepsOn } from '../entity/operation-steps.ts';
import { saga } from '../saga/saga.ts';

/** Fields of a sandbox that runs, or that a person paused. */
export const NOT_SUSPENDED_FOR_SPACE = { stalledBy: null, waitingFor: null };

/** Pauses its CPUs; memory, disks and address stay. A sandbox suspended for space then stays paused. */
export async function pauseSandbox(
  entity: SandboxEntity,
  { actor }: PauseOperation,
  generation: number,
): Promise<void> {
  if (entity.record.stalledBy) return entity.recordChange('sandbox.paused', NOT_SUSPENDED_FOR_SPACE, {}, actor);
  if (entity.record.state === 'paused') return;
  await pauseCpus(entity, generation);
  await entity.recordChange('sandbox.paused', { state: 'paused' }, {}, actor);
}

/** Resumes a paused sandbox from its memory, if its host finds room for it. */
export async function resumeSandbox(
  entity: SandboxEntity,
  { actor }: PauseOperation,
  generation: number,
): Promise<void> {
  if (entity.record.state === 'running') return;
  await resumeCpus(entity, generation);
  const change = { state: 'running', ...(entity.record.stalledBy && NOT_SUSPENDED_FOR_SPACE) } as const;
  await entity.recordChange('sandbox.resumed', change, {}, actor);
}

/**
 * Pauses its CPUs until there is room for its writes. A sandbox paused by a person does not grow, and is left alone.
 */
export async function suspendForSpace(
  entity: SandboxEntity,
  { cause, why }: SuspendForSpaceOperation,
  generation: number,
): Promise<void> {
  if (entity.record.state === 'paused') return;
  await pauseCpus(entity, generation);
  await entity.recordChange('sandbox.stalled', { state: 'paused', stalledBy: cause, waitingFor: why }, { cause, why });
}

/** Resumes it, if its host has room. Does nothing when a person paused or resumed it in the meantime. */
export async function resumeWithSpace(entity: SandboxEntity, generation: number): Promise<void> {
  const { stalledBy: cause } = entity.record;
  if (!cause) return;
  await resumeCpus(entity, generation);
  await entity.recordChange('sandbox.unstalled', { state: 'running', ...NOT_SUSPENDED_FOR_SPACE }, { cause });
}

/** Pauses its CPUs; compensated when that fails, or the sandbox ends. */
function pauseCpus(entity: SandboxEntity, generation: number): Promise<void> {
  const host = stepsOn(entity, generation);
  return saga(async (undo) => {
    undo('pause', host.undoPause);
    await host.pause();
  });
}

/** Resumes its CPUs, if its host has room; compensated when that fails, or the sandbox ends. */
function resumeCpus(entity: SandboxEntity, generation: number): Promise<void> {
  const host = stepsOn(entity, generation);
  return saga(async (undo) => {
    undo('resume', host.undoResume);
    await host.resume();
  });
}
