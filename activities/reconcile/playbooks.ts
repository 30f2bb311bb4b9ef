import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import { playbookWorkflowIdOf } from '../../model/playbook/playbook-saga.ts';
import { RECONCILER } from '../../model/sagas/reconcile.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { END_TIMEOUT_MS, endSandboxes } from './ended-sandboxes.ts';
import { failPlaybook } from './fail-task.ts';
import { findLost } from './find-lost.ts';

const LOST = {
  code: 'playbook_failed',
  message: 'Its saga was lost with what Temporal knew, or was never begun. Ask for it again.',
} as const;

/** Activity that ends playbooks without a workflow. Their snapshots are removed with all snapshots for comparisons. */
export function createPlaybookReconcileActivities({ store, reconciliation }: SagaDeps) {
  async function end(playbook: PlaybookRecord, waitUntil: number): Promise<void> {
    if (!(await endSandboxes({ store, reconciliation }, [playbook.checkerId], waitUntil))) return;
    const at = new Date().toISOString();
    await failPlaybook(store, playbook, { failure: LOST, actor: RECONCILER, hostId: null, at });
  }

  return {
    /** Fails playbooks that lost their workflow, after ending their sandboxes. */
    async endLostPlaybooks({ graceMs }: { graceMs: number }): Promise<void> {
      const waitUntil = Date.now() + END_TIMEOUT_MS;
      const lost = findLost({ reconciliation, graceMs }, await store.playbooks.underWay(), ({ id, updatedAt }) => ({
        since: updatedAt,
        workflowIds: [playbookWorkflowIdOf(id)],
      }));
      for await (const playbook of lost) await end(playbook, waitUntil);
    },
  };
}
