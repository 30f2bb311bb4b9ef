import { workflowInfo } from '@temporalio/workflow';
import type { RecordEventInput } from '../model/sagas/messages.ts';
import { controlUntilDone } from './saga/control.ts';

const { rememberEvent } = controlUntilDone;

/** One event for the audit trail that belongs to no saga: for those that were under way before record-events.ts took many. */
export async function recordEvent({ sandboxId, event }: RecordEventInput): Promise<void> {
  await rememberEvent({ sandboxId, event: { ...event, runId: workflowInfo().runId } });
}
