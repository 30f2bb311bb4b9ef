import { RUN_STATES } from '../../../model/functions/run.ts';
import type { Reconciliation } from '../../../sagas/reconciliation.ts';
import type { Store } from '../../../store/connect.ts';
import type { Announcer } from '../../webhook/announcer.ts';
import { createAttemptSandboxActivities } from './attempt-sandbox.ts';
import { createBeginAttemptActivities } from './begin-attempt.ts';
import { createEndAttemptActivities } from './end-attempt.ts';
import { createLeaveAttemptActivities } from './leave-attempt.ts';
import { createRunCommandActivities } from './run-command.ts';

interface Deps {
  store: Store;
  reconciliation: Reconciliation;
  announcer: Announcer;
}

/** What a run asks of the store. What runs is read from its version each time. */
export function createAttemptActivities(deps: Deps) {
  return {
    ...createBeginAttemptActivities(deps),
    ...createAttemptSandboxActivities(deps),
    ...createRunCommandActivities(deps),
    ...createEndAttemptActivities(deps),
    ...createLeaveAttemptActivities(deps),

    /** Says whether a run waits for its host. */
    async showRun({ runId, isWaiting }: { runId: string; isWaiting: boolean }): Promise<void> {
      await deps.store.runs.change(runId, RUN_STATES, { waitingFor: isWaiting ? 'host' : null });
    },
  };
}

export type AttemptActivities = ReturnType<typeof createAttemptActivities>;
