import type { ApprovalRecord } from '../../model/approvals/approval.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { ServiceDeps } from '../service-deps.ts';

type Deps = Pick<ServiceDeps, 'sagas'>;

/** @throws MayflyError temporal_unavailable */
export async function recordAsked(deps: Deps, approval: ApprovalRecord): Promise<void> {
  const { action, digest, rules, policyVersion, role, askedBy, askedAt, expiresAt } = approval;
  const detail = { action, digest, rules, policyVersion, role, expiresAt };
  await record(deps, approval, 'approval.requested', askedBy, askedAt, detail);
}

/** Who decided, and how, after who asked, should that not have been recorded; nothing of one that nobody has decided. @throws MayflyError temporal_unavailable */
export async function recordDecided(deps: Deps, approval: ApprovalRecord): Promise<void> {
  const { decidedBy, decidedAt, digest, reason, state } = approval;
  if (!decidedBy || decidedAt === null) return;
  await recordAsked(deps, approval);
  const kind = state === 'refused' || state === 'withdrawn' ? (`approval.${state}` as const) : 'approval.approved';
  await record(deps, approval, kind, decidedBy, decidedAt, { digest, reason });
}

/** What it was used for, and who let it be: also when that could not be told by itself. @throws MayflyError temporal_unavailable */
export async function recordUsed(deps: Deps, approval: ApprovalRecord): Promise<void> {
  const { askedBy, askedAt, decidedBy, decidedAt, digest, usedAt, usedFor } = approval;
  if (usedAt === null) return;
  const detail = { digest, usedFor, askedAt, decidedBy, decidedAt };
  await record(deps, approval, 'approval.used', askedBy, usedAt, detail);
}

/** A repetition is the same event: nothing of it but what the approval says. */
async function record(
  { sagas }: Deps,
  { id }: ApprovalRecord,
  kind: AuditKind,
  actor: Actor,
  at: string,
  detail: AuditEvent['detail'],
): Promise<void> {
  const eventId = `${id}/${kind}/${at}`;
  await sagas.sandboxes.recordEvent(id, { eventId, kind, actor, runId: null, hostId: null, at, detail });
}
