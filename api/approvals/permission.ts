import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'hono';
import type { ApprovalAction, ApprovalRecord } from '../../model/approvals/approval.ts';
import {
  countRuleOf,
  countsSandboxes,
  type Policy,
  type PolicyFacts,
  type Verdict,
  verdictOf,
} from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import { approvalIdOf } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { recordAsked } from '../../services/approvals/approval-events.ts';
import { deniedBy, nameRules, policyOf } from '../../services/approvals/policy-check.ts';
import { type Attempt, freedWhenRefused } from '../../services/idempotent-attempt.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import type { Answer } from '../http/idempotency.ts';
import { preferenceOf } from '../http/prefer.ts';
import { waitWithin } from '../http/waiting.ts';
import { approvalView } from './approval-schemas.ts';
import { useApproval } from './use-approval.ts';

/** How often a request that waits looks whether it was decided. Milliseconds. */
const POLL_MS = 500;

/** A request that a policy may be about. */
export interface Wish {
  action: ApprovalAction;
  /** Whose policy it is. */
  project: string;
  agentId?: string | null | undefined;
  /** Whether this very request was begun before; then it was let. `@default` it is not known */
  isBegun?: () => Promise<boolean>;
  resolve: () => Promise<ResolvedWish>;
}

/** A request as it would be done now. */
interface ResolvedWish {
  facts: PolicyFacts;
  /** As it is shown to who decides. */
  request: Record<string, unknown>;
  /** What else decides what is done: as it is not to be shown, or says nothing to people. @default nothing */
  content?: unknown;
}

type Asking = Extract<Verdict, { effect: 'ask' }>;

/** An approval that a request needs, and all that its digest is of. */
interface Needed {
  record: ApprovalRecord;
  whole: string;
}

/** So that nobody finds out by guessing what is not shown. Bytes. */
const SALT_BYTES = 16;

/**
 * Has the policy of a project look at a request before anything of it is begun, or counted. The same request again, with its
 * Idempotency-Key, uses what was approved; it does so once.
 * @returns the answer of one that waits; null: it may be done
 * @throws MayflyError policy_denied, idempotency_key_required, approval_refused, approval_stale, approval_decided,
 *   approvals_full, and what `resolve` throws
 */
export async function askPermission(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: Attempt,
  wish: Wish,
): Promise<Answer | null> {
  if (!attempt.isFresh && (await wish.isBegun?.())) return null;
  return freedWhenRefused(deps.store, attempt, async () => {
    const before = await neededNow(c, deps, attempt, wish);
    if (!before) return null;
    const asked = await ensureAsked(deps, before);
    const record = await decided(c, deps, asked);
    if (record.state === 'awaiting-approval') return waitingAnswer(c, record);
    // While it waited the policy, and what it is made of, may have become others.
    const now = record === asked ? before : await neededNow(c, deps, attempt, wish);
    if (now) await useApproval(c, deps, attempt, refuseOther(record, now), now.record);
    return null;
  });
}

/** The approval that a request would need were it done now; null: none. @throws MayflyError policy_denied, idempotency_key_required */
async function neededNow(c: Context<Env>, deps: RequestDeps, attempt: Attempt, wish: Wish): Promise<Needed | null> {
  const policy = await policyOf(deps.store, wish.project);
  if (!policy) return null;
  const resolved = await wish.resolve();
  const verdict = verdictOf(policy.rules, await counted(deps, policy, wish.project, resolved.facts));
  if (verdict.effect === 'deny') throw deniedBy(verdict.rules);
  attempt.countRule = countRuleOf(policy.rules, verdict.effect === 'ask' ? ['deny'] : ['deny', 'ask']);
  if (verdict.effect === 'allow') return null;
  return approvalOf(c, attempt, wish, resolved, { policy, verdict });
}

async function counted(
  { store }: RequestDeps,
  { rules }: Pick<Policy, 'rules'>,
  project: string,
  facts: PolicyFacts,
): Promise<PolicyFacts> {
  if (facts.sandboxes === undefined || !countsSandboxes(rules)) return facts;
  return { ...facts, sandboxes: facts.sandboxes + (await store.approvals.sandboxesOf(project)) };
}

/** What is asked for, were it asked for now. @throws MayflyError idempotency_key_required */
function approvalOf(
  c: Context<Env>,
  { claim }: Attempt,
  { action, project, agentId = null }: Wish,
  { request, content = null }: ResolvedWish,
  { policy, verdict }: { policy: Pick<Policy, 'version'>; verdict: Asking },
): Needed {
  if (!claim) {
    const why = `By ${nameRules(verdict.rules)} of the policy of the project it needs an approval`;
    throw new MayflyError('idempotency_key_required', `${why}, which is for one request: name it.`);
  }
  const askedBy = actorOf(c, agentId);
  const { rules, role, expiresSeconds } = verdict;
  const now = Date.now();
  const whole = canonicalJson({ action, project, request, content, askedBy });
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const record: ApprovalRecord = {
    id: approvalIdOf(claim.apiKeyId, claim.key),
    project,
    state: 'awaiting-approval',
    action,
    request,
    digest: digestOf(salt, whole),
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
  return { record, whole };
}

function digestOf(salt: string, whole: string): string {
  return createHmac('sha256', salt).update(whole).digest('hex');
}

/**
 * The approval of this request, which is asked for when it was not before.
 * @throws MayflyError approval_stale when it is for something else, approvals_full
 */
async function ensureAsked(deps: RequestDeps, needed: Needed): Promise<ApprovalRecord> {
  const { record: asked } = needed;
  const { approvals } = deps.store;
  const present = await approvals.get(asked.id);
  const isFirst = present === null && (await approvals.create(asked));
  if (!isFirst) return refuseOther(present ?? (await approvals.get(asked.id)), needed);
  const isAmong = await approvals.isAmong(asked, LIMITS.approvals.waiting);
  // One that is not removed was decided meanwhile: it waits no more.
  if (!isAmong && (await approvals.remove(asked.id))) {
    const why = `${LIMITS.approvals.waiting} requests of ${asked.project} wait for approval already.`;
    throw new MayflyError('approvals_full', why, { retryAfterSeconds: 60 });
  }
  await recordAsked(deps, asked);
  return asked;
}

/** @returns the record, which is of what would be done now @throws MayflyError approval_stale */
function refuseOther(record: ApprovalRecord | null, { record: { id }, whole }: Needed): ApprovalRecord {
  if (record && digestOf(record.salt, whole) === record.digest) return record;
  const why = 'What it is made of, its settings, its sandbox or who asks are not as they were when that was asked for';
  throw new MayflyError('approval_stale', `${id} is of another request. ${why}.`);
}

/** When somebody has decided, or the caller's preference ends. */
async function decided(c: Context<Env>, deps: RequestDeps, record: ApprovalRecord): Promise<ApprovalRecord> {
  const { seconds, applied } = preferenceOf(c.req.header('prefer'));
  if (applied === null || record.state !== 'awaiting-approval') return record;
  c.header('Preference-Applied', applied);
  const began = Date.now();
  const latest = await approvalAfter(c, deps, record, seconds);
  c.set('waitedSeconds', (Date.now() - began) / 1_000);
  return latest;
}

/** As it is when it waits no more, or when the time is over. @param seconds how long at most */
export async function approvalAfter(
  c: Context<Env>,
  deps: RequestDeps,
  record: ApprovalRecord,
  seconds: number,
): Promise<ApprovalRecord> {
  let latest = record;
  await waitWithin(c, deps, seconds, async (signal) => {
    while (latest.state === 'awaiting-approval') {
      await sleep(POLL_MS, undefined, { signal });
      latest = (await deps.store.approvals.get(record.id)) ?? latest;
    }
  });
  return latest;
}

function waitingAnswer(c: Context<Env>, record: ApprovalRecord): Answer {
  c.header('Location', `/v1/approvals/${record.id}`);
  return { response: c.json(approvalView(record), 202), isKept: false };
}
