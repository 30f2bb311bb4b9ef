import { randomUUID } from 'node:crypto';
import { redact } from '../../model/redaction/redact.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { currentRequestId } from '../../store/audit/request-id.ts';
import type { ServiceDeps } from '../service-deps.ts';

type Access = Pick<AuditEvent, 'actor' | 'kind' | 'hostId' | 'detail'>;

/**
 * Records an access in the audit trail of a sandbox or a source. Callers record first: without a record nothing
 * happens.
 * @throws MayflyError temporal_unavailable
 */
export async function recordAccess(
  { sagas }: Pick<ServiceDeps, 'sagas'>,
  subjectId: string,
  { detail, ...access }: Access,
): Promise<void> {
  await sagas.sandboxes.recordEvent(subjectId, {
    eventId: randomUUID(),
    ...access,
    runId: null,
    at: new Date().toISOString(),
    detail: { ...redact(detail), requestId: currentRequestId() },
  });
}
