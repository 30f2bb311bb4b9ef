import { Context } from '@temporalio/activity';
import { pause } from '../../host/os/abort.ts';
import { getLastAttempt, type RetainedFailure, type RunRecord } from '../../model/functions/run.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import {
  deriveRetainedSnapshotId,
  getRetentionEnd,
  isPermanent,
  RETENTION_TRIES,
  shouldRetain,
} from '../../model/functions/traces.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { takeSnapshot } from '../snapshot/taken-snapshot.ts';
import { recordRetainedGone } from '../snapshot/tell-gone.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { acceptedSpec } from './accepted-version.ts';
import type { AttemptRef } from './known-attempt.ts';
import { toFailure } from './refusal.ts';

interface KeepSettled extends AttemptRef {
  /** Failure of the snapshot, if any. */
  failure: RunFailure | null;
}

/** Pause before the n-th retry: n times this. Milliseconds. */
const PAUSE_MS = 1_000;

/** Activities that retain the disks of a failed run, as a snapshot of its project. */
export function createKeepActivities({ store, reconciliation }: SagaDeps) {
  async function findRetention({ runId, sandboxId }: AttemptRef) {
    const run = await store.runs.get(runId);
    const attempt = run && getLastAttempt(run);
    if (!run || attempt?.sandboxId !== sandboxId || !shouldRetain(run)) return null;
    const keep = (await acceptedSpec(store, run))?.keep;
    return keep ? { run, attempt, keep } : null;
  }

  async function snapshotsOf(sandboxId: string): Promise<SnapshotRecord[]> {
    const tries = Array.from({ length: RETENTION_TRIES }, (_, n) => deriveRetainedSnapshotId(sandboxId, n + 1));
    const found = await Promise.all(tries.map((id) => store.snapshots.get(id)));
    return found.filter((each) => each !== null);
  }

  async function retrySnapshot(run: RunRecord, sandboxId: string, until: string): Promise<RunFailure | null> {
    const { id: runId, createdBy: actor } = run;
    for (let nth = 1; ; nth++) {
      const operationId = deriveRetainedSnapshotId(sandboxId, nth);
      const wish = { operationId, name: runId, reason: 'failed-run', keptOf: { runId, until }, actor } as const;
      try {
        await takeSnapshot({ store, reconciliation }, sandboxId, wish);
        return null;
      } catch (error) {
        Context.current().cancellationSignal.throwIfAborted();
        const { code, message } = toFailure(error, ['store_unavailable']);
        if (nth === RETENTION_TRIES || isPermanent(code)) return { code, message };
        await pause(nth * PAUSE_MS, Context.current().cancellationSignal);
      }
    }
  }

  return {
    /**
     * Snapshots the sandbox of a failed attempt, once, if no attempt follows.
     * @returns why there is none; null: it exists, or none is wanted
     */
    async keepAttempt(said: AttemptRef): Promise<RunFailure | null> {
      const known = await findRetention(said);
      if (!known) return null;
      const { run, attempt, keep } = known;
      if ((await snapshotsOf(attempt.sandboxId)).some(isSaved)) return null;
      return retrySnapshot(run, attempt.sandboxId, getRetentionEnd(attempt.endedAt ?? run.updatedAt, keep.days));
    },

    /** Records the retained snapshot, once the sandbox is destroyed and no other can follow. */
    async settleKept({ failure, ...said }: KeepSettled): Promise<void> {
      const known = await findRetention(said);
      if (!known || known.run.kept) return;
      const { run, attempt } = known;
      const snapshots = await snapshotsOf(attempt.sandboxId);
      const whole = snapshots.find(isSaved);
      const kept = whole ? retainedAs(whole) : notRetained(failure ?? snapshots.at(-1)?.failure ?? GONE);
      await store.runs.change(run.id, ['ended'], { kept, updatedAt: new Date().toISOString() });
      const now = whole && (await store.snapshots.get(whole.id));
      if (now) await recordRetainedGone(store, now); // deleted before the run referred to it
    },
  };
}

const GONE: RunFailure = { code: 'sandbox_ended', message: 'its sandbox had ended' };

/** Reports whether its data was saved, even if deleted since. */
function isSaved({ saved }: SnapshotRecord): boolean {
  return saved !== null;
}

function retainedAs({ id: snapshotId, keptOf }: SnapshotRecord): RetainedFailure {
  return { snapshotId, until: keptOf?.until ?? null, goneAt: null, failure: null };
}

function notRetained({ code, message }: RunFailure): RetainedFailure {
  return { snapshotId: null, until: null, goneAt: null, failure: { code, message } };
}
