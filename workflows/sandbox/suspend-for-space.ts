import type { ResumeWithSpaceOperation, SuspendForSpaceOperation } from '../../model/sagas/messages.ts';
import { pauseCpus, resumeCpus } from '../life/cpus.ts';
import type { Life } from '../life/life.ts';
import type { OperationRun } from '../life/operation-run.ts';

/** What a sandbox that goes on, or is paused by a person, does not wait for any more. */
export const NOT_SUSPENDED_FOR_SPACE = { stalledBy: null, waitingFor: null };

/** Halts its CPUs until there is room for what it writes. One that a person has paused does not grow, and stays theirs. */
export async function suspendForSpace(
  life: Life,
  run: OperationRun,
  { cause, why }: SuspendForSpaceOperation,
  generation: number,
): Promise<void> {
  run.accept();
  if (life.record.state === 'paused') return;
  await pauseCpus(life, generation);
  await life.recordChange('sandbox.stalled', { state: 'paused', stalledBy: cause, waitingFor: why }, { cause, why });
}

/** Lets it go on where it was, if its host finds room for it. Whom somebody paused or resumed meanwhile stays so. */
export async function resumeWithSpace(
  life: Life,
  run: OperationRun,
  _operation: ResumeWithSpaceOperation,
  generation: number,
): Promise<void> {
  run.accept();
  const { stalledBy } = life.record;
  if (!stalledBy) return;
  await resumeCpus(life, generation);
  await life.recordChange('sandbox.unstalled', { state: 'running', ...NOT_SUSPENDED_FOR_SPACE }, { cause: stalledBy });
}
