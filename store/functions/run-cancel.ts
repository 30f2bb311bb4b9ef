import type { RunRecord } from '../../model/functions/run.ts';
import { WAITING_STATES } from '../../model/functions/run-state.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import type { Runs } from './runs.ts';

/**
 * Cancels a run. A waiting one ends at once; for one under way the cancel is stored before its workflow is notified, so
 * that it survives a lost notification. An ended run stays as it is.
 */
export async function cancelRun(
  runs: Pick<Runs, 'end' | 'wishCancel' | 'cancelTold'>,
  { id, retentionDays }: Pick<RunRecord, 'id' | 'retentionDays'>,
  actor: Actor,
  notify: (runId: string, actor: Actor) => Promise<void>,
): Promise<void> {
  const at = steadyClock.iso();
  const ended = { outcome: 'cancelled', cancelledBy: actor, endedAt: at, updatedAt: at } as const;
  if (await runs.end(id, WAITING_STATES, ended, retentionDays)) return;
  if (!(await runs.wishCancel(id, { cancelledBy: actor, updatedAt: at }))) return;
  await notify(id, actor);
  await runs.cancelTold(id);
}
