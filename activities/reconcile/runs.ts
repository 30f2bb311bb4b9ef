import { deriveAttemptIds } from '../../model/functions/run.ts';
import { runWorkflowId } from '../../model/functions/run-saga.ts';
import { ACTIVE_STATES } from '../../model/functions/run-state.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import type { DamagedRun } from '../../store/functions/runs.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { beginRun } from '../function/begin-run.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { END_TIMEOUT_MS, endSandboxes } from './ended-sandboxes.ts';
import { findLost } from './find-lost.ts';

/** Activity that resumes runs without a workflow from their records; nothing is started twice. */
export function createRunReconcileActivities({ store, reconciliation }: SagaDeps) {
  /**
   * Destroys the sandboxes of a run, then ends it and frees its slots. Its workflow can't read the record, so it is
   * terminated.
   */
  async function endDamaged(
    { id, tries, member, members, retentionDays }: DamagedRun,
    waitUntil: number,
  ): Promise<void> {
    const message = `The record of ${id} can't be read.`;
    await reconciliation.terminate(runWorkflowId(id), message);
    const own = Array.from({ length: tries }, (_, n) => deriveAttemptIds(id, n + 1).sandboxId);
    const sandboxIds = [...own, ...(members ?? []), ...(member == null ? [] : [member])];
    if (!(await endSandboxes({ store, reconciliation }, sandboxIds, waitUntil))) return;
    const records = await Promise.all(sandboxIds.map((sandboxId) => store.sandboxes.get(sandboxId)));
    for (const [n, sandboxId] of sandboxIds.entries()) {
      // a sandbox being created without a record yet is ended by the next round
      if (records[n] === null && (await reconciliation.sandboxes.isOpen(sandboxId))) return;
    }
    const at = steadyClock.iso();
    const failure = { code: 'record_damaged', message } as const;
    await store.runs.end(id, ACTIVE_STATES, { outcome: 'failed', failure, endedAt: at, updatedAt: at }, retentionDays);
    const isProved = records.every((record) => record === null || record.proof !== null);
    await store.runs.free(id, { cleanup: isProved ? 'proved' : 'unproved' });
  }

  return {
    async resumeRuns({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      const unreadable: Unreadable[] = [];
      const admitted = await store.runs.admitted(null, unreadable);
      const lost = findLost({ reconciliation, graceMs }, admitted, ({ id, updatedAt }) => ({
        since: updatedAt,
        workflowIds: [runWorkflowId(id)],
      }));
      for await (const run of lost) {
        await reconciliation.resume(runWorkflowId(run.id), () => beginRun({ store, reconciliation }, run));
      }
      if (unreadable.length === 0) return;
      const waitUntil = Date.now() + END_TIMEOUT_MS;
      for (const run of await store.runs.damaged()) {
        if (Date.parse(run.updatedAt) <= before) await endDamaged(run, waitUntil);
      }
    },
  };
}
