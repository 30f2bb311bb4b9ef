import type { Context } from 'hono';
import { isMayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { type Awaited, isOver, type RunWatch } from '../../services/runs/run-watch.ts';
import { waitWithin } from '../../services/waiting.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { waitLimit } from '../http/waiting.ts';

/** Whose ends are waited for, and until when: seconds at most. */
interface EndWait {
  watch: RunWatch;
  until: Awaited;
  seconds: number;
}

/**
 * The run as it is when it is over, or when the time is. Where the store has gone away by then, as it was: it is accepted, and
 * who is told otherwise sends it again.
 */
export async function endOfRun(
  c: Context<Env>,
  deps: RequestDeps,
  run: RunRecord,
  { watch, until, seconds }: EndWait,
): Promise<RunRecord> {
  if (seconds === 0 || isOver(run, until)) return run;
  await waitWithin(deps, waitLimit(c, seconds), (signal) => watch.until(run.id, until, signal));
  try {
    return (await deps.store.runs.get(run.id)) ?? run;
  } catch (error) {
    if (!isMayflyError(error, 'store_unavailable')) throw error;
    deps.logger.warn({ err: error, requestId: c.get('requestId') }, 'stopped waiting for a run');
    return run;
  }
}
