import { workflowInfo } from '@temporalio/workflow';
import { redact } from '../../model/redaction/redact.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { now } from './now.ts';

/** @param unique what no other event of the run has: a number that counts up, or a kind that a run has once */
export function eventIdOf(unique: number | string): string {
  return `${workflowInfo().runId}/${unique}`;
}

/** What happened in this run, redacted, for an audit trail. A replay gives it the same id, which makes a repeated append harmless. */
export function auditEvent(
  unique: number | string,
  event: Pick<AuditEvent, 'kind' | 'actor' | 'hostId' | 'detail'>,
): AuditEvent {
  const { runId } = workflowInfo();
  return { eventId: eventIdOf(unique), runId, at: now(), ...event, detail: redact(event.detail) };
}
