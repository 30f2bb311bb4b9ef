import type { Client } from '@temporalio/client';
import { listAuditKinds } from './audit-kinds.ts';
import { loseWorkflow } from './lose-workflow.ts';
import { reconcileOnce } from './reconcile-once.ts';
import { useSagaCases } from './saga-cases.ts';
import { HANGS_AFTER_MS } from './test-timeouts.ts';
import { useDatabase } from './use-database.ts';

/** Age below which a round ignores a change, ms: nothing else changes here. */
export const GRACE_MS = 100;

/** Extends {@link useSagaCases} on the host in memory by losses of sagas and records, and by reconciliation. */
export function useReconcileCases() {
  const cases = useSagaCases({ kind: 'in-memory' });
  const all = cases.mayfly;
  const collection = useDatabase(all);

  /** Runs one round, including its actions on hosts. */
  const reconcile = ({ client }: { client: Client } = all()) => reconcileOnce(client, GRACE_MS);

  /** Deletes the workflow of a running sandbox. */
  const loseSaga = (id: string) => loseWorkflow(all().client, `sandbox/${id}`);

  /** Deletes its record, as a restored backup from before its creation does. */
  async function deleteRecord(id: string): Promise<void> {
    for (const name of ['sandboxes', 'endedSandboxes']) await collection(name).deleteOne({ _id: id });
  }

  const listKinds = (id: string) => listAuditKinds(all(), id);

  async function awaitAdoption(id: string): Promise<void> {
    await all().sagas.sandboxes.settled(id, AbortSignal.timeout(HANGS_AFTER_MS));
  }

  return { ...cases, reconcile, loseSaga, deleteRecord, listKinds, awaitAdoption };
}
