import { setTimeout as sleep } from 'node:timers/promises';
import type { ApprovalRecord } from '../../model/approvals/approval.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';

type Deps = Pick<ServiceDeps, 'sagas'>;

/** @throws MayflyError temporal_unavailable */
export async function recordRequested(deps: Deps, approval: ApprovalRecord): Promise<void> {
  const { action, digest, rules, policyVersion, role, askedBy, askedAt, expiresAt } = approval;
  const detail = { action, digest, rules, policyVersion, role, expiresAt };
  await record(deps, approval, 'approval.requested', askedBy, askedAt, detail);
}

/**
 * Records who decided and how, after the request for approval. No-op while undecided.
 * @throws MayflyError temporal_unavailable
 */
export async function recordDecided(deps: Deps, approval: ApprovalRecord): Promise<void> {
  const { decidedBy, decidedAt, digest, reason, state } = approval;
  if (!decidedBy || decidedAt === null) return;
  await recordRequested(deps, approval);
  const kind = state === 'refused' || state === 'withdrawn' ? (`approval.${state}` as const) : 'approval.approved';
  await record(deps, approval, kind, decidedBy, decidedAt, { digest, reason });
}

/**
 * Records the use of an approval, with its decider, also when the decision is not in the audit.
 * @throws MayflyError temporal_unavailable
 */
export async function recordUsed(deps: Deps, approval: ApprovalRecord): Promise<void> {
  const { askedBy, askedAt, decidedBy, decidedAt, digest, usedAt, usedFor } = approval;
  if (usedAt === null) return;
  const detail = { digest, usedFor, askedAt, decidedBy, decidedAt };
  await record(deps, approval, 'approval.used', askedBy, usedAt, detail);
}

/** Records an event of an approval. Idempotent: its id is derived from the approval. */
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

/** Interval between two polls of an approval, ms. */
const POLL_MS = 500;

/**
 * Error of a request that waits for an approval. Its Idempotency-Key stays claimed; the client repeats it after the
 * decision.
 */
export class PendingApproval extends Error {
  constructor(readonly record: ApprovalRecord) {
    super(`${record.id} awaits approval`);
  }
}

/** Returns an approval once it is decided, or at the end of the limit. */
export async function awaitDecision(
  deps: Pick<ServiceDeps, 'store' | 'logger'>,
  record: ApprovalRecord,
  limit: WaitLimit,
): Promise<ApprovalRecord> {
  let latest = record;
  await waitWithin(deps, limit, async (signal) => {
    while (latest.state === 'awaiting-approval') {
      await sleep(POLL_MS, undefined, { signal });
      latest = (await deps.store.approvals.get(record.id)) ?? latest;
    }
  });
  return latest;
}
