import { heartbeat } from '@temporalio/activity';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import { playbookWorkflowIdOf } from '../../model/playbook/playbook-saga.ts';
import { RECONCILER } from '../../model/sagas/reconcile.ts';
import { ENDED_WITHIN_MS, endSandboxes } from './ended-sandboxes.ts';
import type { ReconcileDeps } from './sandboxes.ts';

const LOST = {
  code: 'playbook_failed',
  message: 'Its saga was lost with what Temporal knew, or was never begun. Ask for it again.',
} as const;

/** Playbooks whose workflows are gone, or were never begun. Their snapshots go with all that are there for a comparison. */
export function createPlaybookReconcileActivities({ store, reconciliation }: ReconcileDeps) {
  async function end({ id, sandboxId, checkerId }: PlaybookRecord, waitUntil: number): Promise<void> {
    if (!(await endSandboxes({ store, reconciliation }, [checkerId], waitUntil))) return;
    const [at, state] = [new Date().toISOString(), 'failed' as const];
    await store.audit.record(sandboxId, {
      eventId: `${id}/playbook.ended`,
      kind: 'playbook.ended',
      actor: RECONCILER,
      runId: null,
      hostId: null,
      at,
      detail: { playbookId: id, state, failure: LOST },
    });
    await store.playbooks.update(id, { state, failure: LOST, waitingFor: null, endedAt: at, updatedAt: at });
  }

  return {
    /** One that was under way has lost what it waited for: its sandbox is ended, and it has failed. */
    async endLostPlaybooks({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      const waitUntil = Date.now() + ENDED_WITHIN_MS;
      for (const record of await store.playbooks.underWay()) {
        heartbeat();
        if (Date.parse(record.updatedAt) > before) continue;
        if (!(await reconciliation.isOpen(playbookWorkflowIdOf(record.id)))) await end(record, waitUntil);
      }
    },
  };
}
