import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { cancelRun } from '../../store/functions/run-cancel.ts';
import { requireRun, type ServiceDeps } from '../service-deps.ts';

/**
 * Cancels a run as {@link cancelRun} does.
 * @returns the run after that
 * @throws MayflyError run_not_found, run_in_batch, temporal_unavailable
 */
export async function cancelAndRead(deps: ServiceDeps, run: RunRecord, actor: Actor): Promise<RunRecord> {
  const { store, sagas } = deps;
  if (run.state !== 'ended') await cancelRun(store.runs, run, actor, (...told) => sagas.functions.cancelRun(...told));
  const latest = await requireRun(deps, run.id);
  if (latest.batch === null || latest.state === 'ended') return latest;
  throw new MayflyError('run_in_batch', `Its event is in ${latest.batch}, with those of others.`);
}
