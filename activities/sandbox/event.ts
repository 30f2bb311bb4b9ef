import { Context } from '@temporalio/activity';
import { RECORD_EVENTS_WORKFLOW, type RecordEventInput } from '../../model/sagas/messages.ts';
import type { Store } from '../../store/connect.ts';
import { RequestVerifier } from '../access/askers.ts';

export function createEventActivities({ store }: { store: Store }) {
  const askers = new RequestVerifier(store);
  return {
    /**
     * Appends an event; its id makes a repetition harmless. Events from another process, not from a workflow, must be
     * signed by it.
     * @throws MayflyError request_refused
     */
    async rememberEvent({ sandboxId, event, signature }: RecordEventInput): Promise<void> {
      if (isRequestedByProcess()) await askers.mayRecord({ sandboxId, event: { ...event, runId: null } }, signature);
      await store.audit.record(sandboxId, event);
    },
  };
}

/** Reports whether this activity's workflow passes on data from its starter or from signals. */
function isRequestedByProcess(): boolean {
  const { workflowType } = Context.current().info;
  return workflowType === undefined || workflowType === RECORD_EVENTS_WORKFLOW;
}
