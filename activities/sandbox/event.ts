import { Context } from '@temporalio/activity';
import { RECORD_EVENTS_WORKFLOW, type RecordEventInput } from '../../model/sagas/messages.ts';
import type { Store } from '../../store/connect.ts';
import { Askers } from '../access/askers.ts';

export function createEventActivities({ store }: { store: Store }) {
  const askers = new Askers(store);
  return {
    /**
     * The event's id makes a repetition harmless. What a process, and no saga, asked for must be signed by it. @throws
     * MayflyError request_refused
     */
    async rememberEvent({ sandboxId, event, signature }: RecordEventInput): Promise<void> {
      if (isAsked()) await askers.mayRecord({ sandboxId, event: { ...event, runId: null } }, signature);
      await store.audit.record(sandboxId, event);
    },
  };
}

/** Whether the workflow that this activity is of hands on what it was given, by whoever started or signalled it. */
function isAsked(): boolean {
  const { workflowType } = Context.current().info;
  return workflowType === undefined || workflowType === RECORD_EVENTS_WORKFLOW;
}
