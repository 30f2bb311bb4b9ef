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

/** In these it has a machine, or the memory of one, and nothing was being done to it that cannot be told. */
const AT_REST: ReadonlySet<SandboxState> = new Set(['running', 'paused', 'hibernated']);
/** With these its host has said that there is nothing to carry on. */
const MACHINE_GONE: ReadonlySet<ErrorCode> = new Set(['sandbox_not_running', 'wake_failed', 'hibernation_unsupported']);

/**
 * Adopts a sandbox whose workflow is gone, though it has not ended, as its record says that it is:
 *
 *   running, paused, hibernated → its machine is brought to that, and it lives on: TTL and idle time as before
 *   the machine is gone, or something was half made → lost, with the reason; its end follows
 *   destroying → its end follows
 *
 * A host that is down is waited for, until the sandbox's end comes.
 */
export async function adoptSandbox(entity: SandboxEntity): Promise<void> {
  const { state, updatedAt, createdBy } = entity.record;
  if (createdBy.apiKeyId === RECONCILER.apiKeyId) {
    return endLost(entity, `It was found on ${entity.record.hostId}, and no record says what it is.`);
  }
  if (isFinal(state)) return endOnceMore(entity);
  if (state === 'destroying') return endAsBefore(entity);
  if (!AT_REST.has(state)) {
    return endLost(entity, `It was ${state} when its saga was lost, and that cannot be carried on.`);
  }
  const { usedAt } = await controlUntilDone.lastUse({ sandboxId: entity.id });
  try {
    await entity.perform('adopt', (generation) => carryOn(entity, generation));
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

/** Decides the end as the record has it, whoever has asked for one meanwhile. */
function conclude({ state }: SandboxEntity, failure: SandboxFailure | null): void {
  state.end = { reason: state.record.stopReason ?? 'lost', actor: state.end?.actor ?? null, failure };
}

/** It had ended, and yet something of it was found: that is removed, and the outcome of the sandbox stays as it was. */
async function endOnceMore(entity: SandboxEntity): Promise<void> {
  const { record } = entity;
  const { foundOn } = entity.input;
  if (foundOn) {
    const askedHosts = [...record.askedHosts, foundOn];
    await entity.recordChange('sandbox.found', { ...foundOn, askedHosts }, { foundOn: foundOn.hostId });
  }
  conclude(entity, record.failure);
}

/** It was being removed already, for a reason that the record has. */
async function endAsBefore(entity: SandboxEntity): Promise<void> {
  const { stopReason, failure } = entity.record;
  if (failure === null && (stopReason === 'create-failed' || stopReason === 'lost')) {
    return endLost(entity, `It was being removed when its saga was lost: ${stopReason}.`);
  }
  conclude(entity, failure);
}

async function carryOn(entity: SandboxEntity, generation: number): Promise<void> {
  const { state } = entity.record;
  const host = stepsOn(entity, generation);
  await failUnfinishedSnapshots(entity);
  const machine = await retryUntilHealthy(entity, host, () => restoreMachine(host, state).catch(classifyFailure));
  if (typeof machine !== 'string') throw machine.gone;
  await entity.recordChange('sandbox.taken-over', { waitingFor: null }, { state, machine });
}

/** An operation may have been under way whose saga is gone: the machine is brought to what the record says. */
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

/** @throws what is worth another attempt */
function classifyFailure(error: unknown): { gone: unknown } {
  if (isCancellation(error) || !MACHINE_GONE.has(failureOf(error, '').code)) throw error;
  return { gone: error };
}
