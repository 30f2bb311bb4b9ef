import { lastAttempt, type RunDiff, type RunRecord } from '../../model/functions/run.ts';
import { type DiffSide, diffSnapshotId } from '../../model/functions/traces.ts';
import type { HostRef } from '../../model/host.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { hostOf } from '../../model/sandbox/sandbox-state.ts';
import { takenSnapshot } from '../snapshot/taken-snapshot.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { acceptedSpec } from './accepted-version.ts';
import type { SaidAttempt } from './known-attempt.ts';

interface DiffSideOf extends SaidAttempt {
  side: DiffSide;
}

interface DiffSettled extends SaidAttempt {
  diff: RunDiff;
}

/** Activities that diff a run's sandbox between two snapshots taken for it alone. */
export function createDiffActivities({ store, reconciliation }: SagaDeps) {
  /** Returns the run, if the attempt is its last and its function wants a diff. */
  async function wanted({ runId, sandboxId }: SaidAttempt): Promise<RunRecord | null> {
    const run = await store.runs.get(runId);
    if (!run || lastAttempt(run)?.sandboxId !== sandboxId) return null;
    return (await acceptedSpec(store, run))?.diff ? run : null;
  }

  return {
    /** Returns the sandbox's host and the run's actor; null: no sandbox, or no diff wanted. */
    async diffPlace(said: SaidAttempt): Promise<{ host: HostRef; actor: Actor } | null> {
      const run = await wanted(said);
      const sandbox = run && (await store.sandboxes.get(said.sandboxId));
      const host = sandbox && hostOf(sandbox);
      return host ? { host, actor: run.createdBy } : null;
    },

    /** Takes one of the two snapshots, once. @throws MayflyError why it is not taken */
    async takeDiffSide({ side, ...said }: DiffSideOf): Promise<void> {
      const run = await wanted(said);
      if (!run) return;
      const wish = { operationId: diffSnapshotId(said.sandboxId, side), reason: 'diff', actor: run.createdBy } as const;
      await takenSnapshot({ store, reconciliation }, said.sandboxId, wish);
    },

    /** Reports whether the run has ended for good, its process was started, and its diff is missing. */
    async isDiffDue(said: SaidAttempt): Promise<boolean> {
      const run = await wanted(said);
      return run !== null && run.state === 'ended' && run.startedAt !== null && !run.diff;
    },

    async settleDiff({ diff, ...said }: DiffSettled): Promise<void> {
      const run = await wanted(said);
      if (!run || run.diff) return;
      await store.runs.change(run.id, ['ended'], { diff, updatedAt: new Date().toISOString() });
    },
  };
}
