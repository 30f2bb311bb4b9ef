import type { Context } from 'hono';
import { type ApprovalRecord, getDecisionRefusal } from '../../model/approvals/approval.ts';
import { MayflyError } from '../../model/errors.ts';
import { grants } from '../../model/scopes.ts';
import { awaitDecision, recordDecided } from '../../services/approvals/approval-events.ts';
import { currentPolicy } from '../../services/approvals/policy-check.ts';
import { requireProject } from '../../services/service-deps.ts';
import { auditPage, pageOfChain } from '../audit/audit.ts';
import { actorOf, type Env, preferenceOf, preferredWait } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { auditQuery, json, pageOf, preferHeaders } from '../http/schemas.ts';
import {
  approvalAnswer,
  approvalListQuery,
  approvalParams,
  decideApproval,
  policyAnswer,
  policyHeaders,
  policyQuery,
  setPolicy,
} from './approval-schemas.ts';

const route = routeOf('approvals');

const ALL = '/v1/approvals';
const ONE = `${ALL}/{id}`;

const decision = (verb: 'approve' | 'refuse', state: 'approved' | 'refused', summary: string) =>
  route(`${verb}Approval`, 'post', `${ONE}/${verb}`, {
    scope: null,
    summary,
    description:
      'By a key that has the `role` of the approval, is of its project, and is not the one that asks. Of two at once one decides.',
    in: { params: approvalParams, body: decideApproval },
    out: { 200: json('It is decided', approvalAnswer) },
    problems: ['approval_not_found', 'approval_stale', 'approval_decided', 'temporal_unavailable'],
    handle: async ({ c, params, body: { digest, reason = null, agentId = null } }) => {
      const record = await requireApproval(c, params.id);
      const why = getDecisionRefusal(record, c.get('apiKey'), agentId);
      if (why !== null) throw new MayflyError('forbidden', `It is not yours to decide on ${record.id}: ${why}.`);
      if (digest !== record.digest) throw new MayflyError('approval_stale', `That is not the digest of ${record.id}.`);
      return decide(c, record, { state, decidedBy: actorOf(c, agentId), reason });
    },
  });

export const approvalRoutes: Route[] = [
  route('listApprovals', 'get', ALL, {
    scope: null,
    summary: 'List what was asked for, newest first',
    description: 'All of the project with `sandboxes:read` or `approvals:decide`.',
    in: { query: approvalListQuery },
    out: { 200: json('One page', pageOf(approvalAnswer)) },
    problems: ['project_not_found'],
    handle: async ({ c, store, query }) => {
      const { limit, project = store.viewer.project, state, cursor } = query;
      assertReadsAll(c);
      await requireProject({ store }, project);
      const wanted = { project, limit, cursor, ...(state && { state }) };
      return store.approvals.list(wanted);
    },
  }),
  route('getApproval', 'get', ONE, {
    scope: null,
    summary: 'Read an approval; `Prefer: wait` waits until it is decided',
    description: 'Who asks for it sees it, and the project with `sandboxes:read` or `approvals:decide`.',
    in: { params: approvalParams, headers: preferHeaders },
    out: { 200: json('The approval', approvalAnswer) },
    problems: ['approval_not_found'],
    handle: async ({ c, deps, params, headers }) => {
      const record = await requireApproval(c, params.id);
      return preferenceOf(headers.prefer).applied === null ? record : awaitDecision(deps, record, preferredWait(c));
    },
  }),
  route('getApprovalAudit', 'get', `${ONE}/audit`, {
    tag: 'audit',
    scope: null,
    summary: 'Who asked, who decided, and what used it',
    in: { params: approvalParams, query: auditQuery },
    out: { 200: json('One page, oldest first', auditPage) },
    problems: ['approval_not_found'],
    handle: async ({ c, deps, params, query }) => {
      const { id } = await requireApproval(c, params.id);
      return pageOfChain(deps, id, query);
    },
  }),
  decision('approve', 'approved', 'Let a request be done, once'),
  decision('refuse', 'refused', 'Refuse a request'),
  route('withdrawApproval', 'post', `${ONE}/withdraw`, {
    scope: null,
    summary: 'Ask no more: by the key that asked',
    in: { params: approvalParams },
    out: { 200: json('Nobody can approve it any more', approvalAnswer) },
    problems: ['approval_not_found', 'approval_decided', 'temporal_unavailable'],
    handle: async ({ c, params }) => {
      const record = await requireApproval(c, params.id);
      if (record.askedBy.apiKeyId !== c.get('apiKey').id) {
        throw new MayflyError('forbidden', `${record.askedBy.apiKeyId} asks for ${record.id}, and alone withdraws it.`);
      }
      const decidedBy = actorOf(c, record.askedBy.agentId);
      return decide(c, record, { state: 'withdrawn', decidedBy, reason: null });
    },
  }),
];

type Decision = Pick<ApprovalRecord, 'decidedBy' | 'reason'> & { state: 'approved' | 'refused' | 'withdrawn' };

/** Records a decision. Idempotent. @throws MayflyError approval_decided */
async function decide(c: Context<Env>, { id }: ApprovalRecord, decision: Decision): Promise<ApprovalRecord> {
  const deps = c.get('deps');
  const decidedAt = new Date().toISOString();
  const changed = await deps.store.approvals.change(id, { state: 'awaiting-approval' }, { ...decision, decidedAt });
  const record = changed ?? (await requireApproval(c, id));
  const isSame = record.state === decision.state && record.decidedBy?.apiKeyId === decision.decidedBy?.apiKeyId;
  if (!isSame) throw new MayflyError('approval_decided', `${id} is ${record.state}.`);
  await recordDecided(deps, record);
  return record;
}

/** @throws MayflyError approval_not_found, also for one that the caller may not read */
async function requireApproval(c: Context<Env>, id: string): Promise<ApprovalRecord> {
  const record = await c.get('deps').store.approvals.get(id);
  if (record && (canReadAll(c) || record.askedBy.apiKeyId === c.get('apiKey').id)) return record;
  throw new MayflyError('approval_not_found', `There is no approval ${id}.`);
}

/** True when the caller may read all approvals of the project; other callers read their own. */
function canReadAll(c: Context<Env>): boolean {
  const { scopes } = c.get('apiKey');
  return grants(scopes, 'sandboxes:read') || grants(scopes, 'approvals:decide');
}

/** @throws MayflyError forbidden */
export function assertReadsAll(c: Context<Env>): void {
  if (!canReadAll(c)) throw new MayflyError('forbidden', 'The API key lacks the scope `approvals:decide`.');
}

const path = '/v1/policies';

export const policyRoutes: Route[] = [
  route('getPolicy', 'get', path, {
    scope: 'sandboxes:read',
    summary: 'Read what a project lets be done, has asked for, and denies',
    in: { query: policyQuery },
    out: { 200: json('The policy; `ETag` is its version', policyAnswer) },
    problems: ['project_not_found'],
    handle: async ({ c, store, query }) => {
      const project = await projectOf(c, query.project);
      const answer = await currentPolicy(store, project);
      c.header('ETag', `"${answer.version}"`);
      return answer;
    },
  }),
  route('putPolicy', 'put', path, {
    scope: 'admin',
    summary: 'Set the rules of a project, which hold from the next request on',
    description:
      'All of them; each change is another version. What was approved before is looked at again when it is used.',
    in: { query: policyQuery, headers: policyHeaders, body: setPolicy },
    out: { 200: json('The policy', policyAnswer) },
    problems: ['project_not_found', 'policy_changed'],
    handle: async ({ c, store, query, headers, body: { rules } }) => {
      const project = await projectOf(c, query.project);
      const { 'if-match': wanted = '*' } = headers;
      const { version } = await currentPolicy(store, project);
      if (wanted !== '*' && wanted !== `"${version}"`) {
        throw new MayflyError('policy_changed', `The policy of ${project} has the version ${version} by now.`);
      }
      const createdBy = actorOf(c);
      const createdAt = new Date().toISOString();
      await store.policies.add({ project, version: version + 1, rules, createdBy, createdAt });
      c.header('ETag', `"${version + 1}"`);
      return { project, version: version + 1, rules, isReadable: true, createdBy, createdAt };
    },
  }),
];

/** @throws MayflyError project_not_found, also for one that the caller may not read */
async function projectOf(c: Context<Env>, named: string | undefined): Promise<string> {
  const { store } = c.get('deps');
  const project = named ?? store.viewer.project;
  await requireProject({ store }, project);
  return project;
}
