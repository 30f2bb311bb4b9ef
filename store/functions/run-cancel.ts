import type { RunRecord } from '../../model/functions/run.ts';
import { WAITING } from '../../model/functions/run-state.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import type { Runs } from './runs.ts';

/**
 * Has a run end. One that waits ends at once; of one that is under way the wish is written down before its workflow is told,
 * so that it holds also when that is lost. One that has ended is as it ended.
 * @param tell its workflow
 */
export async function cancelRun(
  runs: Pick<Runs, 'end' | 'wishCancel' | 'cancelTold'>,
  { id, retentionDays }: Pick<RunRecord, 'id' | 'retentionDays'>,
  actor: Actor,
  tell: (runId: string, actor: Actor) => Promise<void>,
): Promise<void> {
  const at = steadyClock.iso();
  const ended = { outcome: 'cancelled', cancelledBy: actor, endedAt: at, updatedAt: at } as const;
  if (await runs.end(id, WAITING, ended, retentionDays)) return;
  if (!(await runs.wishCancel(id, { cancelledBy: actor, updatedAt: at }))) return;
  await tell(id, actor);
  await runs.cancelTold(id);
}
