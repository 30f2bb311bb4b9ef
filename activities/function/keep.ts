import { Context } from '@temporalio/activity';
import { pause } from '../../host/os/abort.ts';
import { type KeptFailure, lastAttempt, type RunRecord } from '../../model/functions/run.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { isForEver, isToBeKept, KEEP_TRIES, keptSnapshotId, keptUntil } from '../../model/functions/traces.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { takenSnapshot } from '../snapshot/taken-snapshot.ts';
import { tellGone } from '../snapshot/tell-gone.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { acceptedSpec } from './accepted-version.ts';
import type { SaidAttempt } from './known-attempt.ts';
import { refusalIn } from './refusal.ts';

interface KeepSettled extends SaidAttempt {
  /** Failure of the snapshot, if any. */
  failure: RunFailure | null;
}

/** Pause before the n-th retry: n times this. Milliseconds. */
const PAUSE_MS = 1_000;

/** Activities that retain the disks of a failed run, as a snapshot of its project. */
export function createKeepActivities({ store, reconciliation }: SagaDeps) {
  async function toBeKept({ runId, sandboxId }: SaidAttempt) {
    const run = await store.runs.get(runId);
    const attempt = run && lastAttempt(run);
    if (!run || attempt?.sandboxId !== sandboxId || !isToBeKept(run)) return null;
    const keep = (await acceptedSpec(store, run))?.keep;
    return keep ? { run, attempt, keep } : null;
  }

  async function snapshotsOf(sandboxId: string): Promise<SnapshotRecord[]> {
    const tries = Array.from({ length: KEEP_TRIES }, (_, n) => keptSnapshotId(sandboxId, n + 1));
    const found = await Promise.all(tries.map((id) => store.snapshots.get(id)));
    return found.filter((each) => each !== null);
  }

  async function tried(run: RunRecord, sandboxId: string, until: string): Promise<RunFailure | null> {
    const { id: runId, createdBy: actor } = run;
    for (let nth = 1; ; nth++) {
      const operationId = keptSnapshotId(sandboxId, nth);
      const wish = { operationId, name: runId, reason: 'failed-run', keptOf: { runId, until }, actor } as const;
      try {
        await takenSnapshot({ store, reconciliation }, sandboxId, wish);
        return null;
      } catch (error) {
        Context.current().cancellationSignal.throwIfAborted();
        const { code, message } = refusalIn(error, ['store_unavailable']);
        if (nth === KEEP_TRIES || isForEver(code)) return { code, message };
        await pause(nth * PAUSE_MS, Context.current().cancellationSignal);
      }
    }
  }

  return {
    /**
     * Snapshots the sandbox of a failed attempt, once, if no attempt follows.
     * @returns why there is none; null: it exists, or none is wanted
     */
    async keepAttempt(said: SaidAttempt): Promise<RunFailure | null> {
      const known = await toBeKept(said);
      if (!known) return null;
      const { run, attempt, keep } = known;
      if ((await snapshotsOf(attempt.sandboxId)).some(isWhole)) return null;
      return tried(run, attempt.sandboxId, keptUntil(attempt.endedAt ?? run.updatedAt, keep.days));
    },

    /** Records the retained snapshot, once the sandbox is destroyed and no other can follow. */
    async settleKept({ failure, ...said }: KeepSettled): Promise<void> {
      const known = await toBeKept(said);
      if (!known || known.run.kept) return;
      const { run, attempt } = known;
      const snapshots = await snapshotsOf(attempt.sandboxId);
      const whole = snapshots.find(isWhole);
      const kept = whole ? keptAs(whole) : notKept(failure ?? snapshots.at(-1)?.failure ?? GONE);
      await store.runs.change(run.id, ['ended'], { kept, updatedAt: new Date().toISOString() });
      const now = whole && (await store.snapshots.get(whole.id));
      if (now) await tellGone(store, now); // deleted before the run referred to it
    },
  };
}

const GONE: RunFailure = { code: 'sandbox_ended', message: 'its sandbox had ended' };

/** Reports whether its data was saved, even if deleted since. */
function isWhole({ saved }: SnapshotRecord): boolean {
  return saved !== null;
}

function keptAs({ id: snapshotId, keptOf }: SnapshotRecord): KeptFailure {
  return { snapshotId, until: keptOf?.until ?? null, goneAt: null, failure: null };
}

function notKept({ code, message }: RunFailure): KeptFailure {
  return { snapshotId: null, until: null, goneAt: null, failure: { code, message } };
}
