import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'hono';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { waitWithin } from '../http/waiting.ts';

/** The store notifies nobody: it is asked again, less often the longer it takes. Milliseconds. */
const LOOK = { firstMs: 25, mostMs: 500, factor: 1.5 };

/** The run as it is when it has ended, or when the time is over. @param seconds how long at most */
export async function endOfRun(
  c: Context<Env>,
  deps: RequestDeps,
  run: RunRecord,
  seconds: number,
): Promise<RunRecord> {
  let latest = run;
  let pauseMs = LOOK.firstMs;
  await waitWithin(c, deps, seconds, async (signal) => {
    while (latest.state !== 'ended') {
      await sleep(pauseMs, undefined, { signal });
      pauseMs = Math.min(LOOK.mostMs, pauseMs * LOOK.factor);
      latest = (await deps.store.runs.get(run.id)) ?? latest;
    }
  });
  return latest;
}
