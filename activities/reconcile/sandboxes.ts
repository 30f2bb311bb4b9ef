import { heartbeat } from '@temporalio/activity';
import type { HostRef } from '../../model/host.ts';
import { orphanInput, RECONCILED_A_ROUND, recordedInput } from '../../model/sagas/reconcile.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal, LIVING_STATES } from '../../model/sandbox/sandbox-state.ts';
import type { OpenRun } from '../../temporal/client/sandboxes.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

/** What store and Temporal do not agree about. Ids only: what is done looks again. */
interface Disagreement {
  /** Live by their records, and have no run. */
  unattended: string[];
  /** Have a run, and no record, or one that is not theirs. */
  misrecorded: string[];
  /** Have a run, though their records have long said that they ended. */
  outlived: string[];
}

export function createSandboxReconcileActivities({ store, reconciliation }: SagaDeps) {
  async function isUnattended({ id }: SandboxRecord): Promise<boolean> {
    heartbeat();
    if (await reconciliation.sandboxes.isOpen(id)) return false;
    // And once more: one that has ended meanwhile said so before its run was over.
    const record = await store.sandboxes.get(id);
    return record !== null && !isFinal(record.state);
  }

  /** What is wrong about the record of one that has a run; null: nothing, or it is too early to tell. */
  async function fault(run: OpenRun, record: SandboxRecord | null, before: number): Promise<keyof Disagreement | null> {
    heartbeat();
    if (record && Date.parse(record.updatedAt) > before) return null;
    if (!record && run.startedAt.getTime() > before) return null;
    const isAsSaid =
      record && (run.state ?? record.state) === record.state && (run.hostId ?? record.hostId) === record.hostId;
    if (isAsSaid || !(await reconciliation.sandboxes.isOpen(run.sandboxId))) return null;
    return record && isFinal(record.state) ? 'outlived' : 'misrecorded';
  }

  return {
    /**
     * Compares the records of all living sandboxes with all runs. Looks only.
     * @param input.graceMs what has changed since is left alone: Temporal's list of runs follows by some seconds
     */
    async compareRecords({ graceMs }: { graceMs: number }): Promise<Disagreement> {
      const before = Date.now() - graceMs;
      const [records, runs] = await Promise.all([
        store.sandboxes.all(LIVING_STATES),
        reconciliation.sandboxes.listOpen(),
      ]);
      const attended = new Set(runs.map(({ sandboxId }) => sandboxId));
      const alive = new Map(records.map((record) => [record.id, record]));
      const found: Disagreement = { unattended: [], misrecorded: [], outlived: [] };
      for (const record of records) {
        if (found.unattended.length >= RECONCILED_A_ROUND) break;
        if (!attended.has(record.id) && (await isUnattended(record))) found.unattended.push(record.id);
      }
      for (const run of runs) {
        const record = alive.get(run.sandboxId) ?? (await store.sandboxes.get(run.sandboxId));
        const kind = await fault(run, record, before);
        if (kind && found[kind].length < RECONCILED_A_ROUND) found[kind].push(run.sandboxId);
      }
      return found;
    },

    /** Has a saga of its own go on with each, or destroy it if its last was terminated; one that has a saga by now is left to it. */
    async takeOverSandboxes({ sandboxIds }: { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) {
        heartbeat();
        const record = await store.sandboxes.get(id);
        if (!record || isFinal(record.state)) continue;
        const input = recordedInput(record, 'takeOver');
        if (await reconciliation.sandboxes.destroyTerminated(input)) continue;
        await reconciliation.sandboxes.takeOver(input);
      }
    },

    /** Has the runs write what they know into the store. */
    async restoreRecords({ sandboxIds }: { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) {
        heartbeat();
        await reconciliation.sandboxes.restoreRecord(id);
      }
    },

    /** Ends the runs of what has ended: Temporal was set back, the store was not. */
    async endRuns({ sandboxIds }: { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) await reconciliation.sandboxes.end(id);
    },

    /** Of the sandboxes of which something is on a host those that belong to nobody: no run, and no record that lives. */
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

    /** Has each removed from its host by a saga of its own, which proves it. */
    async destroyStrangers({ sandboxIds, ...host }: HostRef & { sandboxIds: string[] }): Promise<void> {
      const foundAt = new Date().toISOString();
      for (const id of sandboxIds) await reconciliation.sandboxes.takeOver(orphanInput(id, host, foundAt));
    },
  };
}
