import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { OwnedActor } from '../../model/sandbox/sandbox.ts';
import type { RequestDeps } from '../http/context.ts';
import { requireRun } from './run-view.ts';

/**
 * Has a run end. One that waits ends at once; of one that is under way the wish is written down before its workflow is told,
 * so that it holds also when that is lost. One that has ended is as it ended.
 * @returns the run as it is then
 * @throws MayflyError run_not_found, run_in_batch, temporal_unavailable
 */
export async function cancelled(deps: RequestDeps, run: RunRecord, actor: OwnedActor): Promise<RunRecord> {
  const { store, sagas } = deps;
  const { id } = run;
  const at = new Date().toISOString();
  const ended = { outcome: 'cancelled', cancelledBy: actor, endedAt: at, updatedAt: at } as const;
  if (run.state !== 'ended' && !(await store.runs.end(id, ['delayed', 'queued'], ended, run.retentionDays))) {
    if (await store.runs.wishCancel(id, { cancelledBy: actor, updatedAt: at })) {
      await sagas.cancelRun(id, actor);
      await store.runs.cancelTold(id);
    }
  }
  const latest = await requireRun(deps, id);
  if (latest.batch === null || latest.state === 'ended') return latest;
  throw new MayflyError('run_in_batch', `Its event is in ${latest.batch}, with those of others.`);
}
