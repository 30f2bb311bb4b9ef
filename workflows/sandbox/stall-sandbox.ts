import type { StallOperation, UnstallOperation } from '../../model/sagas/messages.ts';
import { pauseCpus, resumeCpus } from '../life/cpus.ts';
import type { Life } from '../life/life.ts';
import type { OperationRun } from '../life/operation-run.ts';

/** What a sandbox that goes on, or is paused by a person, does not wait for any more. */
export const NOT_STALLED = { stalledBy: null, waitingFor: null };

/** Halts its CPUs until there is room for what it writes. One that a person has paused does not grow, and stays theirs. */
export async function stallSandbox(
  life: Life,
  run: OperationRun,
  { cause, why }: StallOperation,
  generation: number,
): Promise<void> {
  run.accept();
  if (life.record.state === 'paused') return;
  await pauseCpus(life, generation);
  await life.tell('sandbox.stalled', { state: 'paused', stalledBy: cause, waitingFor: why }, { cause, why });
}

/** Lets it go on where it was, if its host finds room for it. Whom somebody paused or resumed meanwhile stays so. */
export async function unstallSandbox(
  life: Life,
  run: OperationRun,
  _operation: UnstallOperation,
  generation: number,
): Promise<void> {
  run.accept();
  const { stalledBy } = life.record;
  if (!stalledBy) return;
  await resumeCpus(life, generation);
  await life.tell('sandbox.unstalled', { state: 'running', ...NOT_STALLED }, { cause: stalledBy });
}
