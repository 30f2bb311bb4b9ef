import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ChildWorkflowCancellationType,
  type ChildWorkflowHandle,
  condition,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import { readable } from '../../model/sagas/readable.ts';
import { TRUST_CHANGED, TRUST_WORKFLOW, trustWorkflowIdOf } from '../../model/sandbox/certificate-saga.ts';
import type { SandboxEntity } from '../entity/entity.ts';
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
    try {
      const run = await startChild<typeof trust>(TRUST_WORKFLOW, {
        workflowId,
        args: [{ sandboxId: id }],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
        staticSummary: readable(`what ${id} trusts`),
      });
      await told(run, id);
      return;
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    try {
      await getExternalWorkflowHandle(workflowId).signal(TRUST_CHANGED, null);
      return;
    } catch (error) {
      log.info('the run that was to be told has just ended; another is started', { sandboxId: id, why: String(error) });
    }
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
