import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { AppDeps, Env } from '../http/context.ts';

type Access = Pick<AuditEvent, 'kind' | 'hostId' | 'detail'> & { agentId?: string | null | undefined };

/**
 * Has the audit trail of a sandbox, or of a source, say what this request is about to do. Before it is done: what could
 * not be recorded does not happen.
 * @throws MayflyError temporal_unavailable
 */
export async function recordAccess(
  c: Context<Env>,
  { sagas }: AppDeps,
  id: string,
  { kind, hostId, detail, agentId = null }: Access,
): Promise<void> {
  await sagas.recordEvent(id, {
    eventId: randomUUID(),
    kind,
    actor: { apiKeyId: c.get('apiKey').id, agentId },
    runId: null,
    hostId,
    at: new Date().toISOString(),
    detail: { ...detail, requestId: c.get('requestId') },
  });
}
