import type { Context } from 'hono';
import { type ApprovalRecord, whyNotDecider } from '../../model/approvals/approval.ts';
import { MayflyError } from '../../model/errors.ts';
import { recordUsed } from '../../services/approvals/approval-events.ts';
import type { Attempt } from '../../services/idempotent-attempt.ts';
import type { Env, RequestDeps } from '../http/context.ts';

/**
 * Has a request use what was approved for it: once, and again only for what that same request makes.
 * @param asked what would be asked for now
 * @throws MayflyError approval_refused, approval_stale, approval_decided
 */
export async function useApproval(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: Attempt,
  record: ApprovalRecord,
  asked: ApprovalRecord,
): Promise<void> {
  const { id } = record;
  const { subjectId: usedFor } = attempt;
  if (record.state === 'approved') await refuseDecider(deps, record, asked);
  const use = { state: 'used', usedAt: new Date().toISOString(), usedFor } as const;
  const { approvals } = deps.store;
  const used = (await approvals.change(id, { state: 'approved' }, use)) ?? (await approvals.get(id));
  if (used?.state !== 'used' || used.usedFor !== usedFor) throw cameTo(used ?? record);
  attempt.approvalId = id;
  c.set('approvalId', id);
  await recordUsed(deps, used);
}

/** Who approved it may have lost his key since, or the policy wants somebody else. @throws MayflyError approval_stale */
async function refuseDecider(
  { store }: RequestDeps,
  { id, decidedBy, askedAt }: ApprovalRecord,
  asked: ApprovalRecord,
): Promise<void> {
  const key = decidedBy && (await store.approvals.decider(decidedBy.apiKeyId));
  const isGone = !key || key.revokedAt !== null;
  const why = isGone ? 'the key is revoked' : whyNotDecider({ ...asked, askedAt }, key, decidedBy?.agentId ?? null);
  if (why !== null) throw new MayflyError('approval_stale', `Who approved ${id} may not do so any more: ${why}.`);
}

function cameTo({ id, state, reason, usedFor, decidedBy }: ApprovalRecord): MayflyError {
  if (state === 'refused') {
    const why = reason === null ? 'No reason was given' : `The reason: ${reason}`;
    return new MayflyError('approval_refused', `${decidedBy?.apiKeyId ?? 'Somebody'} refused ${id}. ${why}.`);
  }
  return new MayflyError('approval_decided', `${id} is ${state}${usedFor === null ? '' : ` for ${usedFor}`}.`);
}
