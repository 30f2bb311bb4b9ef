import { type ChildWorkflowHandle, condition, log } from '@temporalio/workflow';
import { readable } from '../../model/sagas/readable.ts';
import { TRUST_CHANGED, TRUST_WORKFLOW, trustWorkflowIdOf } from '../../model/sandbox/certificate-saga.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { startUnlessPresent, trySignal } from '../saga/subscription.ts';
import type { trust } from './trust.ts';

/** Then a guest that does not take it is left to that run, which goes on trying. */
const LONGEST_WAIT = '30s';

/**
 * Has a guest that was put back told anew whom to trust: its disks are of a time before the latest revocations. Resolves
 * when it was told, or another run, which is under way, has been asked to.
 */
export async function renewTrust({ id }: SandboxEntity): Promise<void> {
  const workflowId = trustWorkflowIdOf(id);
  for (;;) {
    const run = await startUnlessPresent<typeof trust>(TRUST_WORKFLOW, {
      workflowId,
      args: [{ sandboxId: id }],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: readable(`what ${id} trusts`),
    });
    if (run) return told(run, id);
    if (await trySignal(workflowId, TRUST_CHANGED, null)) return; // else that run has just ended
  }
}

async function told(run: ChildWorkflowHandle<typeof trust>, sandboxId: string): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  run.result().then(over, (error: unknown) => {
    log.warn('nobody knows whom a guest trusts', {
      sandboxId,
      why: error instanceof Error ? error.message : 'unknown',
    });
    over();
  });
  await condition(() => isOver, LONGEST_WAIT);
}
