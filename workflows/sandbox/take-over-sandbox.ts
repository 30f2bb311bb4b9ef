import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { ErrorCode } from '../../model/errors.ts';
import type { ContinuedLife } from '../../model/sagas/continued-life.ts';
import { RECONCILER } from '../../model/sagas/reconcile.ts';
import type { StopReason } from '../../model/sandbox/sandbox.ts';
import { isFinal, type SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { Life } from '../life/life.ts';
import { type OperationSteps, stepsOn } from '../life/operation-steps.ts';
import { operationGeneration } from '../life/steps.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { abandonSnapshots } from '../snapshot/abandon-snapshots.ts';
import { untilItWorks } from './bring-back.ts';

/** In these it has a machine, or the memory of one, and nothing was being done to it that cannot be told. */
const AT_REST: ReadonlySet<SandboxState> = new Set(['running', 'paused', 'hibernated']);
/** With these its host has said that there is nothing to carry on. */
const MACHINE_GONE: ReadonlySet<ErrorCode> = new Set(['sandbox_not_running', 'wake_failed', 'hibernation_unsupported']);

type Ending = NonNullable<ContinuedLife['ending']>;

/**
 * A sandbox whose saga is gone, though it has not ended, as its record says that it is:
 *
 *   running, paused, hibernated → its machine is brought to that, and it lives on: TTL and idle time as before
 *   the machine is gone, or something was half made → lost, with the reason; its end follows
 *   destroying → its end follows
 *
 * A host that is down is waited for, until the sandbox's end comes.
 * @returns how it ends; null when it lives on
 */
export async function takeOver(life: Life, end: Promise<StopReason>): Promise<Ending | null> {
  const { state, updatedAt, createdBy } = life.record;
  if (createdBy.apiKeyId === RECONCILER.apiKeyId) {
    return lost(life, `It was found on ${life.record.hostId}, and no record says what it is.`);
  }
  if (isFinal(state)) return endingOnceMore(life);
  if (state === 'destroying') return endingAsBefore(life);
  if (!AT_REST.has(state)) {
    return lost(life, `It was ${state} when its saga was lost, and that cannot be carried on.`);
  }
  const { usedAt } = await controlUntilDone.lastUse({ sandboxId: life.id });
  life.lastUsed(Math.max(Date.parse(usedAt), Date.parse(updatedAt)));

  const carrying = new CancellationScope();
  void end.then(() => carrying.cancel());
  try {
    await carrying.run(() => carryOn(life));
    return null;
  } catch (error) {
    if (isCancellation(error)) return null; // its end came first
    return lost(life, `It was ${state} when its saga was lost. ${failureOf(error, life.failedStep).message}`);
  }
}

async function lost(life: Life, message: string): Promise<Ending> {
  await life.recordChange('sandbox.lost', {}, { reason: message });
  return { failure: { code: 'sandbox_lost', step: 'takeOver', message } };
}

/** It had ended, and yet something of it was found: that goes, and what became of the sandbox stays as it was. */
async function endingOnceMore(life: Life): Promise<Ending> {
  const { foundOn, record } = life;
  if (foundOn) {
    const askedHosts = [...record.askedHosts, foundOn];
    await life.recordChange('sandbox.found', { ...foundOn, askedHosts }, { foundOn: foundOn.hostId });
  }
  return { failure: record.failure };
}

/** It was being removed already, for a reason that the record has. */
async function endingAsBefore(life: Life): Promise<Ending> {
  const { stopReason, failure } = life.record;
  if (failure || (stopReason !== 'create-failed' && stopReason !== 'lost')) return { failure };
  return lost(life, `It was being removed when its saga was lost: ${stopReason}.`);
}

async function carryOn(life: Life): Promise<void> {
  const { state } = life.record;
  const host = stepsOn(life, operationGeneration(life.beginOperation()));
  try {
    await abandonSnapshots(life);
    const machine = await untilItWorks(life, host, () => bring(host, state).catch(goneOrAgain));
    if (typeof machine !== 'string') throw machine.gone;
    await life.recordChange('sandbox.taken-over', { waitingFor: null }, { state, machine });
  } finally {
    life.endOperation();
  }
}

/** An operation may have been under way whose saga is gone: the machine is brought to what the record says. */
async function bring(host: OperationSteps, state: SandboxState): Promise<string> {
  const { domain } = await host.findMachine();
  if (domain === state) return domain;
  if (state === 'hibernated') {
    await host.hibernate();
    await host.yieldMemory();
    return domain;
  }
  await host.retakeMemory();
  await host.wake(state === 'paused' ? 'paused' : 'running');
  return domain;
}

/** @throws what is worth another attempt */
function goneOrAgain(error: unknown): { gone: unknown } {
  if (isCancellation(error) || !MACHINE_GONE.has(failureOf(error, '').code)) throw error;
  return { gone: error };
}
