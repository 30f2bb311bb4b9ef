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

/** What a process changed, between two snapshots of its sandbox that are there for it alone. */
export function createDiffActivities({ store, reconciliation }: SagaDeps) {
  /** The run, of whose last attempt is spoken, and whose function wants to know. */
  async function wanted({ runId, sandboxId }: SaidAttempt): Promise<RunRecord | null> {
    const run = await store.runs.get(runId);
    if (!run || lastAttempt(run)?.sandboxId !== sandboxId) return null;
    return (await acceptedSpec(store, run))?.diff ? run : null;
  }

  return {
    /** Where its sandbox is, and who has it made; null: it is not there, or nobody wants to know. */
    async diffPlace(said: SaidAttempt): Promise<{ host: HostRef; actor: Actor } | null> {
      const run = await wanted(said);
      const sandbox = run && (await store.sandboxes.get(said.sandboxId));
      const host = sandbox && hostOf(sandbox);
      return host ? { host, actor: run.createdBy } : null;
    },

    /** Has the sandbox take one of the two snapshots, once. @throws MayflyError why it is not taken */
    async takeDiffSide({ side, ...said }: DiffSideOf): Promise<void> {
      const run = await wanted(said);
      if (!run) return;
      const wish = { operationId: diffSnapshotId(said.sandboxId, side), reason: 'diff', actor: run.createdBy } as const;
      await takenSnapshot({ store, reconciliation }, said.sandboxId, wish);
    },

    /** Whether its process was started, nothing comes after it, and it is not known yet what that changed. */
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
