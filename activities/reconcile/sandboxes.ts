import { heartbeat } from '@temporalio/activity';
import type { HostRef } from '../../model/host.ts';
import { ROUND_LIMIT, toAdoptionInput, toOrphanInput } from '../../model/sagas/reconcile.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal, OPEN_STATES } from '../../model/sandbox/sandbox-state.ts';
import type { OpenRun } from '../../temporal/client/sandboxes.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

/** Differences between store and Temporal. Ids only: each repair checks again. */
interface RecordDrift {
  /** Live records without a workflow. */
  unattended: string[];
  /** Workflows with a missing or outdated record. */
  misrecorded: string[];
  /** Workflows whose records ended long ago. */
  outlived: string[];
}

export function createSandboxReconcileActivities({ store, reconciliation }: SagaDeps) {
  async function isUnattended({ id }: SandboxRecord): Promise<boolean> {
    heartbeat();
    if (await reconciliation.sandboxes.isOpen(id)) return false;
    // Read again: a sandbox that has ended since wrote its record before its workflow completed.
    const record = await store.sandboxes.get(id);
    return record !== null && !isFinal(record.state);
  }

  /** Returns the fault in the record of a running workflow; null: none, or too early to decide. */
  async function fault(run: OpenRun, record: SandboxRecord | null, before: number): Promise<keyof RecordDrift | null> {
    heartbeat();
    if (record && Date.parse(record.updatedAt) > before) return null;
    if (!record && run.startedAt.getTime() > before) return null;
    const isConsistent =
      record && (run.state ?? record.state) === record.state && (run.hostId ?? record.hostId) === record.hostId;
    if (isConsistent || !(await reconciliation.sandboxes.isOpen(run.sandboxId))) return null;
    return record && isFinal(record.state) ? 'outlived' : 'misrecorded';
  }

  return {
    /**
     * Compares the records of all living sandboxes with all workflows, without changes.
     * @param input.graceMs ignores newer changes: Temporal's visibility lags by seconds
     */
    async compareRecords({ graceMs }: { graceMs: number }): Promise<RecordDrift> {
      const before = Date.now() - graceMs;
      const [records, runs] = await Promise.all([
        store.sandboxes.all(OPEN_STATES),
        reconciliation.sandboxes.listOpen(),
      ]);
      const attended = new Set(runs.map(({ sandboxId }) => sandboxId));
      const alive = new Map(records.map((record) => [record.id, record]));
      const found: RecordDrift = { unattended: [], misrecorded: [], outlived: [] };
      for (const record of records) {
        if (found.unattended.length >= ROUND_LIMIT) break;
        if (!attended.has(record.id) && (await isUnattended(record))) found.unattended.push(record.id);
      }
      for (const run of runs) {
        const record = alive.get(run.sandboxId) ?? (await store.sandboxes.get(run.sandboxId));
        const kind = await fault(run, record, before);
        if (kind && found[kind].length < ROUND_LIMIT) found[kind].push(run.sandboxId);
      }
      return found;
    },

    /**
     * Starts a workflow to adopt each sandbox, or to destroy it if its last one was terminated; skips those with a
     * workflow.
     */
    async takeOverSandboxes({ sandboxIds }: { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) {
        heartbeat();
        const record = await store.sandboxes.get(id);
        if (!record || isFinal(record.state)) continue;
        const input = toAdoptionInput(record, 'takeOver');
        if (await reconciliation.sandboxes.destroyTerminated(input)) continue;
        await reconciliation.sandboxes.takeOver(input);
      }
    },

    /** Signals the workflows to rewrite their records. */
    async restoreRecords({ sandboxIds }: { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) {
        heartbeat();
        await reconciliation.sandboxes.restoreRecord(id);
      }
    },

    /** Ends the workflows of ended sandboxes: Temporal was restored to an earlier time, the store was not. */
    async endRuns({ sandboxIds }: { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) await reconciliation.sandboxes.end(id);
    },

    /** Returns the orphans among sandboxes with residue on a host: no workflow, and no live record. */
    async strangersAmong({ sandboxIds }: { sandboxIds: string[] }): Promise<{ sandboxIds: string[] }> {
      const strangers: string[] = [];
      for (const id of sandboxIds) {
        heartbeat();
        const record = await store.sandboxes.get(id);
        if (record && !isFinal(record.state)) continue;
        if (!(await reconciliation.sandboxes.isOpen(id))) strangers.push(id);
      }
      return { sandboxIds: strangers };
    },

    /** Starts a workflow for each orphan, which removes it from its host and proves that. */
    async destroyStrangers({ sandboxIds, ...host }: HostRef & { sandboxIds: string[] }): Promise<void> {
      const foundAt = new Date().toISOString();
      for (const id of sandboxIds) await reconciliation.sandboxes.takeOver(toOrphanInput(id, host, foundAt));
    },
  };
}
