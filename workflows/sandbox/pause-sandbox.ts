import type { PauseOperation } from '../../model/sagas/messages.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import type { OperationRun } from '../entity/operation-run.ts';
import { pauseCpus, resumeCpus } from '../entity/vcpus.ts';
import { wakeSandbox } from './hibernate-sandbox.ts';
import { NOT_SUSPENDED_FOR_SPACE } from './suspend-for-space.ts';

/** Halts its CPUs; memory, disks and address are kept. A paused one stays so, and one that its host has suspended for space is not let go on by it. */
export async function pauseSandbox(
  entity: SandboxEntity,
  run: OperationRun,
  { actor }: PauseOperation,
  generation: number,
): Promise<void> {
  run.accept();
  if (entity.record.stalledBy) return entity.recordChange('sandbox.paused', NOT_SUSPENDED_FOR_SPACE, {}, actor);
  if (entity.record.state === 'paused') return;
  await pauseCpus(entity, generation);
  await entity.recordChange('sandbox.paused', { state: 'paused' }, {}, actor);
}

/** Lets it go on where it was, from its memory, if its host finds room for it, or from its host's disk. A running one just runs. */
export async function resumeSandbox(
  entity: SandboxEntity,
  run: OperationRun,
  operation: PauseOperation,
  generation: number,
): Promise<void> {
  run.accept();
  if (entity.record.state === 'running') return;
  if (entity.record.state === 'hibernated') return wakeSandbox(entity, operation, generation);
  await resumeCpus(entity, generation);
  const change = { state: 'running', ...(entity.record.stalledBy && NOT_SUSPENDED_FOR_SPACE) } as const;
  await entity.recordChange('sandbox.resumed', change, {}, operation.actor);
}
