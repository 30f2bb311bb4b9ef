import { RUN_STATES } from '../../../model/functions/run-state.ts';
import type { Actor } from '../../../model/sandbox/sandbox.ts';
import { cancelRun } from '../../../store/functions/run-cancel.ts';
import type { SagaDeps } from '../../step/saga-deps.ts';
import type { WebhookPublisher } from '../../webhook/announcer.ts';
import { createAttemptSandboxActivities } from './attempt-sandbox.ts';
import { createBeginAttemptActivities } from './begin-attempt.ts';
import { createEndAttemptActivities } from './end-attempt.ts';
import { createLeaveAttemptActivities } from './leave-attempt.ts';
import { createRunCommandActivities } from './run-command.ts';

interface Deps extends SagaDeps {
  announcer: WebhookPublisher;
}

/** Activities of a run on the store. They read its version each time. */
export function createAttemptActivities(deps: Deps) {
  return {
    ...createBeginAttemptActivities(deps),
    ...createAttemptSandboxActivities(deps),
    ...createRunCommandActivities(deps),
    ...createEndAttemptActivities(deps),
    ...createLeaveAttemptActivities(deps),

    /** Cancels a run as the API does: stores the request, then signals the workflow. Idempotent. */
    async cancelRun({ runId, actor }: { runId: string; actor: Actor }): Promise<void> {
      const run = await deps.store.runs.get(runId);
      const tell = (id: string) => deps.reconciliation.functions.cancelRun(id, actor);
      if (run && run.state !== 'ended') await cancelRun(deps.store.runs, run, actor, tell);
    },

    async showRun({ runId, isWaiting }: { runId: string; isWaiting: boolean }): Promise<void> {
      await deps.store.runs.change(runId, RUN_STATES, { waitingFor: isWaiting ? 'host' : null });
    },
  };
}
