import { heartbeat } from '@temporalio/activity';
import { runWorkflowIdOf } from '../../model/functions/run-saga.ts';
import { beginRun } from '../function/begin-run.ts';
import type { ReconcileDeps } from './sandboxes.ts';

/** Runs whose workflows are gone: each is gone on with where its record says that it was, and nothing is started twice. */
export function createRunReconcileActivities({ store, reconciliation }: ReconcileDeps) {
  return {
    async resumeRuns({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      for (const run of await store.runs.admitted()) {
        heartbeat();
        const workflowId = runWorkflowIdOf(run.id);
        if (Date.parse(run.updatedAt) > before || (await reconciliation.isOpen(workflowId))) continue;
        await reconciliation.resume(workflowId, () => beginRun({ store, reconciliation }, run));
      }
    },
  };
}

export type RunReconcileActivities = ReturnType<typeof createRunReconcileActivities>;
