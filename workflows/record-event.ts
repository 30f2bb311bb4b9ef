import { proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.ts';
import type { RecordEventInput } from '../model/messages.ts';

const { rememberEvent } = proxyLocalActivities<ControlActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});

/** One event for the audit trail that belongs to no saga; Temporal keeps it until the store has it. */
export async function recordEvent({ sandboxId, event }: RecordEventInput): Promise<void> {
  await rememberEvent({ sandboxId, event: { ...event, runId: workflowInfo().runId } });
}
