import { isCancellation } from '@temporalio/workflow';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { type OperationSteps, stepsOn, unlessOff } from '../entity/operation-steps.ts';
import { controlUntilDone } from '../saga/control.ts';
import { NOT_SUSPENDED_FOR_SPACE } from './pause-sandbox.ts';
import { canPreempt, retryAfterPreemption } from './preemption.ts';
import { restartMachine, retryUntilHealthy } from './roll-back-restore.ts';

/**
 * Puts a sandbox to its host's disk, and gives its memory back:
 *
 *   hibernate → hibernated → yieldMemory
 *
 * When that fails, it is brought back to what it was, running or paused, until it is. The sandbox's end cuts all of
 * this short, and takes away what it finds. One that is hibernated stays so; one that is resumed by being used, and was
 * used meanwhile, is woken at once.
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
    if (!isCancellation(error)) await compensate(entity, generation, (back) => unlessOff(back.wake(before)));
    throw error;
  }
  const change = { state: 'hibernated', ...(entity.record.stalledBy && NOT_SUSPENDED_FOR_SPACE) } as const;
  await entity.recordChange('sandbox.hibernated', change, {}, operation.actor);
  await host.yieldMemory();
  // Who asked for a command meanwhile found it awake, and would wait until the next one comes.
  if (entity.record.spec.autoResume && (await wasUsedAfter(entity, began)))
    await wakeSandbox(entity, operation, generation);
}

/**
 * Has a hibernated sandbox go on:
 *
 *   retakeMemory → wake → awaitIp → verifySsh → running
 *
 * When its host has no room for its memory, a quota is exceeded, or a step fails, it is hibernated as before, until it is.
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
      await unlessOff(back.hibernate());
      await back.yieldMemory();
    });
    throw error;
  }
}

/** Members of pools are evicted for what was hibernated, as for what is created. */
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
