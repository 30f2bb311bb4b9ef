import { type ApprovalRecord, whyNotDecider } from '../../model/approvals/approval.ts';
import { MayflyError } from '../../model/errors.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { recordUsed } from './approval-events.ts';

/**
 * Uses an approval for a request: once, and again only for what that same request makes.
 * @param needed approval that it would need now
 * @throws MayflyError approval_refused, approval_stale, approval_decided
 */
export async function useApproval(
  deps: Pick<ServiceDeps, 'store' | 'sagas'>,
  call: IdempotentCall,
  record: ApprovalRecord,
  needed: ApprovalRecord,
): Promise<void> {
  const { id } = record;
  const { subjectId: usedFor } = call;
  if (record.state === 'approved') await checkDecider(deps, record, needed);
  const use = { state: 'used', usedAt: new Date().toISOString(), usedFor } as const;
  const { approvals } = deps.store;
  const used = (await approvals.change(id, { state: 'approved' }, use)) ?? (await approvals.get(id));
  if (used?.state !== 'used' || used.usedFor !== usedFor) throw notUsable(used ?? record);
  call.approvalId = id;
  await recordUsed(deps, used);
}

/** The decider's key may be revoked since, or the policy may require another role. @throws MayflyError approval_stale */
async function checkDecider(
  { store }: Pick<ServiceDeps, 'store'>,
  { id, decidedBy, askedAt }: ApprovalRecord,
  needed: ApprovalRecord,
): Promise<void> {
  const key = decidedBy && (await store.approvals.decider(decidedBy.apiKeyId));
  const isRevoked = !key || key.revokedAt !== null;
  const why = isRevoked ? 'the key is revoked' : whyNotDecider({ ...needed, askedAt }, key, decidedBy?.agentId ?? null);
  if (why !== null) throw new MayflyError('approval_stale', `Who approved ${id} may not do so any more: ${why}.`);
}

function notUsable({ id, state, reason, usedFor, decidedBy }: ApprovalRecord): MayflyError {
  if (state === 'refused') {
    const why = reason === null ? 'No reason was given' : `The reason: ${reason}`;
    return new MayflyError('approval_refused', `${decidedBy?.apiKeyId ?? 'Somebody'} refused ${id}. ${why}.`);
  }
  return new MayflyError('approval_decided', `${id} is ${state}${usedFor === null ? '' : ` for ${usedFor}`}.`);
}
