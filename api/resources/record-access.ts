import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { redact } from '../../model/redaction/redact.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';

type Access = Pick<AuditEvent, 'kind' | 'hostId' | 'detail'> & { agentId?: string | null | undefined };

/**
 * Has the audit trail of a sandbox, or of a source, say what this request is about to do. Before it is done: what could
 * not be recorded does not happen.
 * @throws MayflyError temporal_unavailable
 */
export async function recordAccess(
  c: Context<Env>,
  { sagas }: RequestDeps,
  id: string,
  { kind, hostId, detail, agentId = null }: Access,
): Promise<void> {
  await sagas.sandboxes.recordEvent(id, {
    eventId: randomUUID(),
    kind,
    actor: actorOf(c, agentId),
    runId: null,
    hostId,
    at: new Date().toISOString(),
    detail: { ...redact(detail), requestId: c.get('requestId') },
  });
}
