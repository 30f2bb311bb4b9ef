import { unknownEnd } from '../../model/functions/command-end.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { toRunInput } from '../../model/functions/run-saga.ts';
import { ACTIVE_STATES } from '../../model/functions/run-state.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import type { Store } from '../../store/connect.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';

interface Deps {
  store: Pick<Store, 'runs'>;
  reconciliation: Pick<ControlTemporalClient, 'functions'>;
}

/**
 * Starts or resumes an admitted run, unless it runs. If its record has no attempt but Temporal has seen its end, does
 * not start it: the store was restored to an earlier time, and its outcome is unknown.
 */
export async function beginRun({ store, reconciliation }: Deps, run: RunRecord): Promise<void> {
  const input = toRunInput(run);
  if ((await reconciliation.functions.startRun(input, run.tries === 0)) !== 'ran') return;
  const latest = await store.runs.get(run.id);
  if (latest && latest.tries > 0) {
    await reconciliation.functions.startRun(input, false); // it was requeued in the meantime
    return;
  }
  const at = steadyClock.iso();
  const { outcome, failure } = unknownEnd('it ran, and the store was set back to a time before');
  const ended = { outcome, failure, endedAt: at, updatedAt: at };
  if (await store.runs.end(run.id, ACTIVE_STATES, ended, run.retentionDays)) {
    await store.runs.free(run.id, { cleanup: 'proved' }); // its workflow ends only after a proved cleanup
  }
}
