import type { ResumeWithSpaceOperation, SuspendForSpaceOperation } from '../../model/sagas/messages.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import type { OperationRun } from '../entity/operation-run.ts';
import { pauseCpus, resumeCpus } from '../entity/vcpus.ts';

/** What a sandbox that goes on, or is paused by a person, does not wait for any more. */
export const NOT_SUSPENDED_FOR_SPACE = { stalledBy: null, waitingFor: null };

/** Halts its CPUs until there is room for what it writes. One that a person has paused does not grow, and stays theirs. */
export async function suspendForSpace(
  entity: SandboxEntity,
  run: OperationRun,
  { cause, why }: SuspendForSpaceOperation,
  generation: number,
): Promise<void> {
  run.accept();
  if (entity.record.state === 'paused') return;
  await pauseCpus(entity, generation);
  await entity.recordChange('sandbox.stalled', { state: 'paused', stalledBy: cause, waitingFor: why }, { cause, why });
}

/** Lets it go on where it was, if its host finds room for it. Whom somebody paused or resumed meanwhile stays so. */
export async function resumeWithSpace(
  entity: SandboxEntity,
  run: OperationRun,
  _operation: ResumeWithSpaceOperation,
  generation: number,
): Promise<void> {
  run.accept();
  const { stalledBy } = entity.record;
  if (!stalledBy) return;
  await resumeCpus(entity, generation);
  await entity.recordChange(
    'sandbox.unstalled',
    { state: 'running', ...NOT_SUSPENDED_FOR_SPACE },
    { cause: stalledBy },
  );
}
