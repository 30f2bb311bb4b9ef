import type { PauseOperation, SuspendForSpaceOperation } from '../../model/sagas/messages.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { stepsOn } from '../entity/operation-steps.ts';
import { saga } from '../saga/saga.ts';

/** Fields of a sandbox that goes on, or is paused by a person. */
export const NOT_SUSPENDED_FOR_SPACE = { stalledBy: null, waitingFor: null };

/** Halts its CPUs; memory, disks and address are kept. One that its host has suspended for space then stays paused. */
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

/** Halts its CPUs until there is room for what it writes. One that a person has paused does not grow, and stays theirs. */
export async function suspendForSpace(
  entity: SandboxEntity,
  { cause, why }: SuspendForSpaceOperation,
  generation: number,
): Promise<void> {
  if (entity.record.state === 'paused') return;
  await pauseCpus(entity, generation);
  await entity.recordChange('sandbox.stalled', { state: 'paused', stalledBy: cause, waitingFor: why }, { cause, why });
}

/** Resumes it, if its host finds room. One that somebody paused or resumed meanwhile stays so. */
export async function resumeWithSpace(entity: SandboxEntity, generation: number): Promise<void> {
  const { stalledBy: cause } = entity.record;
  if (!cause) return;
  await resumeCpus(entity, generation);
  await entity.recordChange('sandbox.unstalled', { state: 'running', ...NOT_SUSPENDED_FOR_SPACE }, { cause });
}

/** Halts its CPUs; when that fails, or the sandbox ends meanwhile, they go on. */
function pauseCpus(entity: SandboxEntity, generation: number): Promise<void> {
  const host = stepsOn(entity, generation);
  return saga(async (undo) => {
    undo('pause', host.undoPause);
    await host.pause();
  });
}

/** Resumes its CPUs, if its host finds room; when that fails, or the sandbox ends meanwhile, they are halted again. */
function resumeCpus(entity: SandboxEntity, generation: number): Promise<void> {
  const host = stepsOn(entity, generation);
  return saga(async (undo) => {
    undo('resume', host.undoResume);
    await host.resume();
  });
}
