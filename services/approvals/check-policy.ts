import { createHmac, randomBytes } from 'node:crypto';
import { type ApprovalRecord, getDecisionRefusal } from '../../model/approvals/approval.ts';
import {
  countsSandboxes,
  evaluatePolicy,
  getCountRule,
  type Policy,
  type PolicyDecision,
  type PolicyFacts,
} from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import { deriveApprovalId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import { actorOf, type IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { PendingApproval, recordRequested, recordUsed } from './approval-events.ts';
import { nameRules, policyDenied, policyOf } from './policy-check.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;

/** Request that a policy may be about. */
export interface PolicyRequest {
  action: ApprovalRecord['action'];
  agentId?: string | null | undefined;
  /** Reports whether an earlier attempt of this request started, so that it was allowed. `@default` unknown */
  isBegun?: () => Promise<boolean>;
  resolve: () => Promise<ResolvedRequest>;
}

/** Request with its defaults and references resolved. */
interface ResolvedRequest {
  facts: PolicyFacts;
  /** Part shown to the decider. */
  request: Record<string, unknown>;
  /** Part that the digest covers and no decider sees, such as values of variables. `@default` null */
  content?: unknown;
}

/** Approval that a request needs, and the text of its digest. */
interface NeededApproval {
  record: ApprovalRecord;
  text: string;
}

/** Length of the salt that keeps hidden content from being guessed by its digest, bytes. */
const SALT_BYTES = 16;

/**
 * Checks a request against the policy of a project, before any of its work starts or counts. The same request again,
 * with its Idempotency-Key, uses its approval, once.
 * @throws PendingApproval while undecided; MayflyError policy_denied, idempotency_key_required, approval_refused,
 *   approval_stale, approval_decided, approvals_full, and what `resolve` throws
 */
export async function checkPolicy(
  deps: Deps,
  call: IdempotentCall,
  project: string,
  request: PolicyRequest,
): Promise<void> {
  if (!call.isFresh && (await request.isBegun?.())) return;
  const policy = await policyOf(deps.store, project);
  if (!policy) return;
  const resolved = await request.resolve();
  const facts = await countSandboxes(deps, policy, project, resolved.facts);
  const verdict = evaluatePolicy(policy.rules, facts);
  if (verdict.effect === 'deny') throw policyDenied(verdict.rules);
  call.countRule = getCountRule(policy.rules, verdict.effect === 'ask' ? ['deny'] : ['deny', 'ask']);
  if (verdict.effect === 'allow') return;
  const needed = neededApproval(call, request, resolved, { project, policy, verdict });
  const record = await ensureRequested(deps, needed);
  if (record.state === 'awaiting-approval') throw new PendingApproval(record);
  await useApproval(deps, call, record, needed.record);
}

async function countSandboxes(
  { store }: Deps,
  { rules }: Pick<Policy, 'rules'>,
  project: string,
  facts: PolicyFacts,
): Promise<PolicyFacts> {
  if (facts.sandboxes === undefined || !countsSandboxes(rules)) return facts;
  return { ...facts, sandboxes: facts.sandboxes + (await store.approvals.sandboxesOf(project)) };
}

/** Returns the approval that a request needs now. @throws MayflyError idempotency_key_required */
function neededApproval(
  call: IdempotentCall,
  { action, agentId = null }: PolicyRequest,
  { request, content = null }: ResolvedRequest,
  {
    project,
    policy,
    verdict,
  }: { project: string; policy: Pick<Policy, 'version'>; verdict: Extract<PolicyDecision, { effect: 'ask' }> },
): NeededApproval {
  if (!call.claim) {
    const why = `By ${nameRules(verdict.rules)} of the policy of the project it needs an approval`;
    throw new MayflyError('idempotency_key_required', `${why}, which is for one request: name it.`);
  }
  const askedBy = actorOf(call, agentId);
  const { rules, role, expiresSeconds } = verdict;
  const now = Date.now();
  const text = canonicalJson({ action, project, request, content, askedBy });
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const record: ApprovalRecord = {
    id: deriveApprovalId(call.claim.apiKeyId, call.claim.key),
    project,
    state: 'awaiting-approval',
    action,
    request,
    digest: digestOf(salt, text),
    salt,
    rules,
    policyVersion: policy.version,
    role,
    askedBy,
    askedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + expiresSeconds * 1_000).toISOString(),
    decidedBy: null,
    decidedAt: null,
    reason: null,
    usedAt: null,
    usedFor: null,
  };
  return { record, text };
}

function digestOf(salt: string, text: string): string {
  return createHmac('sha256', salt).update(text).digest('hex');
}

/**
 * Returns the approval of a request, and requests it unless it exists.
 * @throws MayflyError approval_stale when it is for something else, approvals_full
 */
async function ensureRequested(deps: Deps, needed: NeededApproval): Promise<ApprovalRecord> {
  const { record } = needed;
  const { approvals } = deps.store;
  const present = await approvals.get(record.id);
  const isFirst = present === null && (await approvals.create(record));
  if (!isFirst) return assertSameRequest(present ?? (await approvals.get(record.id)), needed);
  const isAmong = await approvals.isAmong(record, LIMITS.approvals.waiting);
  // `remove` returns false for a request that was decided in between: it counts as waiting no longer.
  if (!isAmong && (await approvals.remove(record.id))) {
    const why = `${LIMITS.approvals.waiting} requests of ${record.project} wait for approval already.`;
    throw new MayflyError('approvals_full', why, { retryAfterSeconds: 60 });
  }
  await recordRequested(deps, record);
  return record;
}

/** Returns the record if its digest is of this request. @throws MayflyError approval_stale */
function assertSameRequest(record: ApprovalRecord | null, { record: { id }, text }: NeededApproval): ApprovalRecord {
  if (record && digestOf(record.salt, text) === record.digest) return record;
  const why = 'What it is made of, its settings, its sandbox or who asks are not as they were when that was asked for';
  throw new MayflyError('approval_stale', `${id} is of another request. ${why}.`);
}

/**
 * Marks an approval as used by a request: once, or again for the same subject.
 * @param needed approval that the request would need now
 * @throws MayflyError approval_refused, approval_stale, approval_decided
 */
async function useApproval(
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

/**
 * Checks that the decider's key is not revoked and still has the role that the policy requires.
 * @throws MayflyError approval_stale
 */
async function checkDecider(
  { store }: Pick<ServiceDeps, 'store'>,
  { id, decidedBy, askedAt }: ApprovalRecord,
  needed: ApprovalRecord,
): Promise<void> {
  const key = decidedBy && (await store.approvals.decider(decidedBy.apiKeyId));
  const isRevoked = !key || key.revokedAt !== null;
  const why = isRevoked
    ? 'the key is revoked'
    : getDecisionRefusal({ ...needed, askedAt }, key, decidedBy?.agentId ?? null);
  if (why !== null) throw new MayflyError('approval_stale', `Who approved ${id} may not do so any more: ${why}.`);
}

function notUsable({ id, state, reason, usedFor, decidedBy }: ApprovalRecord): MayflyError {
  if (state === 'refused') {
    const why = reason === null ? 'No reason was given' : `The reason: ${reason}`;
    return new MayflyError('approval_refused', `${decidedBy?.apiKeyId ?? 'Somebody'} refused ${id}. ${why}.`);
  }
  return new MayflyError('approval_decided', `${id} is ${state}${usedFor === null ? '' : ` for ${usedFor}`}.`);
}
