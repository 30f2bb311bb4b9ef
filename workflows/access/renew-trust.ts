import { type ChildWorkflowHandle, condition, log } from '@temporalio/workflow';
import { markReadable } from '../../model/sagas/readable.ts';
import { TRUST_CHANGED, TRUST_WORKFLOW, trustWorkflowIdOf } from '../../model/sandbox/certificate-saga.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { startUnlessPresent, trySignal } from '../saga/subscription.ts';
import type { trust } from './trust.ts';

/** Longest wait for a guest to take its trust. After that, the run retries in the background. */
const LONGEST_WAIT = '30s';

/**
 * Renews the trust of a restored guest: its disks predate the latest revocations. Resolves when the guest has it, when
 * {@link LONGEST_WAIT} has passed, or when another run in progress was signaled.
 */
export async function renewTrust({ id }: SandboxEntity): Promise<void> {
  const workflowId = trustWorkflowIdOf(id);
  for (;;) {
    const run = await startUnlessPresent<typeof trust>(TRUST_WORKFLOW, {
      workflowId,
      args: [{ sandboxId: id }],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: markReadable(`what ${id} trusts`),
    });
    if (run) return awaitRun(run, id);
    if (await trySignal(workflowId, TRUST_CHANGED, null)) return; // false: that run has just ended
  }
}

async function awaitRun(run: ChildWorkflowHandle<typeof trust>, sandboxId: string): Promise<void> {
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
