import type { PauseOperation } from '../../model/sagas/messages.ts';
import { pauseCpus, resumeCpus } from '../life/cpus.ts';
import type { Life } from '../life/life.ts';
import type { OperationRun } from '../life/operation-run.ts';
import { wakeSandbox } from './hibernate-sandbox.ts';
import { NOT_SUSPENDED_FOR_SPACE } from './suspend-for-space.ts';

/** Halts its CPUs; memory, disks and address are kept. A paused one stays so, and one that its host has suspended for space is not let go on by it. */
export async function pauseSandbox(
  life: Life,
  run: OperationRun,
  { actor }: PauseOperation,
  generation: number,
): Promise<void> {
  run.accept();
  if (life.record.stalledBy) return life.recordChange('sandbox.paused', NOT_SUSPENDED_FOR_SPACE, {}, actor);
  if (life.record.state === 'paused') return;
  await pauseCpus(life, generation);
  await life.recordChange('sandbox.paused', { state: 'paused' }, {}, actor);
}

/** Lets it go on where it was, from its memory, if its host finds room for it, or from its host's disk. A running one just runs. */
export async function resumeSandbox(
  life: Life,
  run: OperationRun,
  operation: PauseOperation,
  generation: number,
): Promise<void> {
  run.accept();
  if (life.record.state === 'running') return;
  if (life.record.state === 'hibernated') return wakeSandbox(life, operation, generation);
  await resumeCpus(life, generation);
  const change = { state: 'running', ...(life.record.stalledBy && NOT_SUSPENDED_FOR_SPACE) } as const;
  await life.recordChange('sandbox.resumed', change, {}, operation.actor);
}
