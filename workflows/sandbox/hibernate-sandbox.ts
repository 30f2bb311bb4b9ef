import { isCancellation } from '@temporalio/workflow';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { ignoreMachineOff, type OperationSteps, stepsOn } from '../entity/operation-steps.ts';
import { controlUntilDone } from '../saga/control.ts';
import { NOT_SUSPENDED_FOR_SPACE } from './pause-sandbox.ts';
import { canPreempt, retryAfterPreemption } from './preemption.ts';
import { restartMachine, retryUntilHealthy } from './roll-back-restore.ts';

/**
 * Saves a sandbox to its host's disk, and releases its memory:
 *
 *   hibernate → hibernated → yieldMemory
 *
 * A failure restores the state before, running or paused, retried until success. The sandbox's end cuts all of this
 * short. A sandbox with `autoResume` that was used during the hibernation is woken at once.
 */
export async function hibernateSandbox(
  entity: SandboxEntity,
  operation: PauseOperation,
  generation: number,
): Promise<void> {
  if (entity.record.state === 'hibernated') return;
  const before = entity.record.state === 'paused' ? 'paused' : 'running';
  const began = Date.now();
  const host = stepsOn(entity, generation);
  try {
    await host.hibernate();
  } catch (error) {
    if (!isCancellation(error)) await compensate(entity, generation, (back) => ignoreMachineOff(back.wake(before)));
    throw error;
  }
  const change = { state: 'hibernated', ...(entity.record.stalledBy && NOT_SUSPENDED_FOR_SPACE) } as const;
  await entity.recordChange('sandbox.hibernated', change, {}, operation.actor);
  await host.yieldMemory();
  // A command sent during the hibernation found it awake, and would wait until another one wakes it.
  if (entity.record.spec.autoResume && (await wasUsedAfter(entity, began)))
    await wakeSandbox(entity, operation, generation);
}

/**
 * Wakes a hibernated sandbox:
 *
 *   retakeMemory → wake → awaitIp → verifySsh → running
 *
 * When its host lacks memory, a quota is exceeded, or a step fails, it is hibernated again, retried until success.
 */
export async function wakeSandbox(entity: SandboxEntity, { actor }: PauseOperation, generation: number): Promise<void> {
  const host = stepsOn(entity, generation);
  try {
    await retakeMemory(entity, host);
    const ssh = await restartMachine(entity, host, () => host.wake('running'));
    await entity.recordChange('sandbox.resumed', { state: 'running', ssh }, {}, actor);
  } catch (error) {
    if (isCancellation(error)) throw error;
    await compensate(entity, generation, async (back) => {
      await ignoreMachineOff(back.hibernate());
      await back.yieldMemory();
    });
    throw error;
  }
}

/** Reacquires memory; evicts pool members for it, as for a create. */
async function retakeMemory(entity: SandboxEntity, host: OperationSteps): Promise<void> {
  try {
    await host.retakeMemory();
  } catch (error) {
    if (!canPreempt(entity, error)) throw error;
    await retryAfterPreemption(entity, host.host, error, () => host.retakeMemory());
  }
}

/** @param time milliseconds since 1970 */
async function wasUsedAfter({ id }: SandboxEntity, time: number): Promise<boolean> {
  const { usedAt } = await controlUntilDone.lastUse({ sandboxId: id });
  return Date.parse(usedAt) > time;
}

async function compensate(
  entity: SandboxEntity,
  generation: number,
  run: (host: OperationSteps) => Promise<void>,
): Promise<void> {
  const host = stepsOn(entity, generation + 1);
  await retryUntilHealthy(entity, host, () => run(host));
}
