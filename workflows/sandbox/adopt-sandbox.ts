import { isCancellation } from '@temporalio/workflow';
import type { ErrorCode } from '../../model/errors.ts';
import { RECONCILER } from '../../model/sagas/reconcile.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { isFinal, type SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { type OperationSteps, stepsOn } from '../entity/operation-steps.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { failUnfinishedSnapshots } from '../snapshot/fail-unfinished-snapshots.ts';
import { retryUntilHealthy } from './roll-back-restore.ts';

/** States in which it has a machine, or saved memory, and no unknown operation was in progress. */
const AT_REST: ReadonlySet<SandboxState> = new Set(['running', 'paused', 'hibernated']);
/** Codes with which its host reports that there is nothing to adopt. */
const MACHINE_GONE: ReadonlySet<ErrorCode> = new Set(['sandbox_not_running', 'wake_failed', 'hibernation_unsupported']);

/**
 * Adopts a sandbox whose workflow is lost, as its record describes it:
 *
 *   running, paused, hibernated → its machine is brought to that state; TTL and idle time continue
 *   machine missing, or an unfinished operation → lost, with the reason; its end follows
 *   destroying → its end follows
 *
 * Waits for a host that is down, until the sandbox's end.
 */
export async function adoptSandbox(entity: SandboxEntity): Promise<void> {
  const { state, updatedAt, createdBy } = entity.record;
  if (createdBy.apiKeyId === RECONCILER.apiKeyId) {
    return endLost(entity, `It was found on ${entity.record.hostId}, and no record says what it is.`);
  }
  if (isFinal(state)) return removeResidue(entity);
  if (state === 'destroying') return resumeRemoval(entity);
  if (!AT_REST.has(state)) {
    return endLost(entity, `It was ${state} when its saga was lost, and that cannot be carried on.`);
  }
  const { usedAt } = await controlUntilDone.lastUse({ sandboxId: entity.id });
  try {
    await entity.perform('adopt', (generation) => adoptMachine(entity, generation));
  } catch (error) {
    const { message } = failureOf(error, entity.failedStep);
    await endLost(entity, `It was ${state} when its saga was lost. ${message}`);
  }
  entity.state.usedAt = Math.max(Date.parse(usedAt), Date.parse(updatedAt));
}

async function endLost(entity: SandboxEntity, message: string): Promise<void> {
  await entity.recordChange('sandbox.lost', {}, { reason: message });
  conclude(entity, { code: 'sandbox_lost', step: 'takeOver', message });
}

/** Sets the end as recorded, regardless of requests to end it since. */
function conclude({ state }: SandboxEntity, failure: SandboxFailure | null): void {
  state.end = { reason: state.record.stopReason ?? 'lost', actor: state.end?.actor ?? null, failure };
}

/** Removes residue of an ended sandbox; its outcome does not change. */
async function removeResidue(entity: SandboxEntity): Promise<void> {
  const { record } = entity;
  const { foundOn } = entity.input;
  if (foundOn) {
    const askedHosts = [...record.askedHosts, foundOn];
    await entity.recordChange('sandbox.found', { ...foundOn, askedHosts }, { foundOn: foundOn.hostId });
  }
  conclude(entity, record.failure);
}

/** Continues a removal, for the recorded reason. */
async function resumeRemoval(entity: SandboxEntity): Promise<void> {
  const { stopReason, failure } = entity.record;
  if (failure === null && (stopReason === 'create-failed' || stopReason === 'lost')) {
    return endLost(entity, `It was being removed when its saga was lost: ${stopReason}.`);
  }
  conclude(entity, failure);
}

async function adoptMachine(entity: SandboxEntity, generation: number): Promise<void> {
  const { state } = entity.record;
  const host = stepsOn(entity, generation);
  await failUnfinishedSnapshots(entity);
  const machine = await retryUntilHealthy(entity, host, () => restoreMachine(host, state).catch(classifyFailure));
  if (typeof machine !== 'string') throw machine.gone;
  await entity.recordChange('sandbox.taken-over', { waitingFor: null }, { state, machine });
}

/** Brings the machine to the recorded state: an operation may have been in progress when its workflow was lost. */
async function restoreMachine(host: OperationSteps, state: SandboxState): Promise<string> {
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

/** Returns a final failure. @throws errors that are worth a retry */
function classifyFailure(error: unknown): { gone: unknown } {
  if (isCancellation(error) || !MACHINE_GONE.has(failureOf(error, '').code)) throw error;
  return { gone: error };
}
