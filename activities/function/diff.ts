import { getLastAttempt, type RunDiff, type RunRecord } from '../../model/functions/run.ts';
import { type DiffSide, deriveDiffSnapshotId } from '../../model/functions/traces.ts';
import type { HostRef } from '../../model/host.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import { takeSnapshot } from '../snapshot/taken-snapshot.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { acceptedSpec } from './accepted-version.ts';
import type { AttemptRef } from './known-attempt.ts';

interface DiffSideOf extends AttemptRef {
  side: DiffSide;
}

interface DiffSettled extends AttemptRef {
  diff: RunDiff;
}

/** Activities that diff a run's sandbox between two snapshots taken for it alone. */
export function createDiffActivities({ store, reconciliation }: SagaDeps) {
  /** Returns the run, if the attempt is its last and its function wants a diff. */
  async function findRun({ runId, sandboxId }: AttemptRef): Promise<RunRecord | null> {
    const run = await store.runs.get(runId);
    if (!run || getLastAttempt(run)?.sandboxId !== sandboxId) return null;
    return (await acceptedSpec(store, run))?.diff ? run : null;
  }

  return {
    /** Returns the sandbox's host and the run's actor; null: no sandbox, or no diff wanted. */
    async diffPlace(ref: AttemptRef): Promise<{ host: HostRef; actor: Actor } | null> {
      const run = await findRun(ref);
      const sandbox = run && (await store.sandboxes.get(ref.sandboxId));
      const host = sandbox && getHost(sandbox);
      return host ? { host, actor: run.createdBy } : null;
    },

    /** Takes one of the two snapshots, once. @throws MayflyError why it is not taken */
    async takeDiffSide({ side, ...said }: DiffSideOf): Promise<void> {
      const run = await findRun(said);
      if (!run) return;
      const wish = {
        operationId: deriveDiffSnapshotId(said.sandboxId, side),
        reason: 'diff',
        actor: run.createdBy,
      } as const;
      await takeSnapshot({ store, reconciliation }, said.sandboxId, wish);
    },

    /** Reports whether the run has ended for good, its process was started, and its diff is missing. */
    async isDiffDue(said: AttemptRef): Promise<boolean> {
      const run = await findRun(said);
      return run !== null && run.state === 'ended' && run.startedAt !== null && !run.diff;
    },

    async settleDiff({ diff, ...said }: DiffSettled): Promise<void> {
      const run = await findRun(said);
      if (!run || run.diff) return;
      await store.runs.change(run.id, ['ended'], { diff, updatedAt: new Date().toISOString() });
    },
  };
}
