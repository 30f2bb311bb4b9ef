import { Context } from '@temporalio/activity';
import { RECORD_EVENTS_WORKFLOW, type RecordEventInput } from '../../model/sagas/messages.ts';
import type { Store } from '../../store/connect.ts';
import { Askers } from '../access/askers.ts';

export function createEventActivities({ store }: { store: Store }) {
  const askers = new Askers(store);
  return {
    /**
     * Appends an event; its id makes a repetition harmless. Events from another process, not from a workflow, must be
     * signed by it.
     * @throws MayflyError request_refused
     */
    async rememberEvent({ sandboxId, event, signature }: RecordEventInput): Promise<void> {
      if (isAsked()) await askers.mayRecord({ sandboxId, event: { ...event, runId: null } }, signature);
      await store.audit.record(sandboxId, event);
    },
  };
}

/** Reports whether this activity's workflow passes on data from its starter or from signals. */
function isAsked(): boolean {
  const { workflowType } = Context.current().info;
  return workflowType === undefined || workflowType === RECORD_EVENTS_WORKFLOW;
}
