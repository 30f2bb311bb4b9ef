import { unseenEnd } from '../../model/functions/command-end.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { runInputOf } from '../../model/functions/run-saga.ts';
import { UNDER_WAY } from '../../model/functions/run-state.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import type { Store } from '../../store/connect.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';

interface Deps {
  store: Pick<Store, 'runs'>;
  reconciliation: Pick<Reconciliation, 'functions'>;
}

/**
 * Begins an admitted run, or goes on with it, unless it runs. One that never began by its record, and that Temporal has seen come to
 * its end, is not begun again: the store was set back, and nobody can tell how it ended.
 */
export async function beginRun({ store, reconciliation }: Deps, run: RunRecord): Promise<void> {
  const input = runInputOf(run);
  if ((await reconciliation.functions.startRun(input, run.tries === 0)) !== 'ran') return;
  const latest = await store.runs.get(run.id);
  if (latest && latest.tries > 0) {
    await reconciliation.functions.startRun(input, false); // it went back to its queue meanwhile
    return;
  }
  const at = steadyClock.iso();
  const { outcome, failure } = unseenEnd('it ran, and the store was set back to a time before');
  const ended = { outcome, failure, endedAt: at, updatedAt: at };
  if (await store.runs.end(run.id, UNDER_WAY, ended, run.retentionDays)) {
    await store.runs.free(run.id, { cleanup: 'proved' }); // or its workflow would not have come to its end
  }
}
