import { workflowInfo } from '@temporalio/workflow';
import { redact } from '../../model/redaction/redact.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { now } from './now.ts';

/** @param unique distinguishes the event within the run: a counter, or a kind that occurs once */
export function eventIdOf(unique: number | string): string {
  return `${workflowInfo().runId}/${unique}`;
}

/**
 * Returns a redacted event of this run for an audit trail. A replay yields the same id, so a repeated append is
 * harmless.
 */
export function auditEvent(
  unique: number | string,
  event: Pick<AuditEvent, 'kind' | 'actor' | 'hostId' | 'detail'>,
): AuditEvent {
  const { runId } = workflowInfo();
  return { eventId: eventIdOf(unique), runId, at: now(), ...event, detail: redact(event.detail) };
}
