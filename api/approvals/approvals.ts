import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type ApprovalRecord, whyNotDecider } from '../../model/approvals/approval.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { auditPage, pageOfChain } from '../audit/audit-page.ts';
import { actorOf } from '../http/auth.ts';
import type { App, Env } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { auditQuery, json, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { requireProject } from '../projects/require-project.ts';
import { recordDecided } from './approval-events.ts';
import { approvalAnswer, approvalListQuery, approvalParams, approvalView, decideApproval } from './approval-schemas.ts';
import { approvalAfter } from './permission.ts';
import { requireSeesAll, seesAll } from './sees-approvals.ts';

const ALL = '/v1/approvals';
const ONE = `${ALL}/{id}`;
const tags = ['approvals'];

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listApprovals',
  summary: 'List what was asked for, newest first',
  description: 'All of the project with `sandboxes:read` or `approvals:decide`.',
  request: { query: approvalListQuery },
  responses: { 200: json('One page', pageOf(approvalAnswer)), ...problems('project_not_found') },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getApproval',
  summary: 'Read an approval; `Prefer: wait` waits until it is decided',
  description: 'Who asks for it sees it, and the project with `sandboxes:read` or `approvals:decide`.',
  request: { params: approvalParams, query: noQuery, headers: preferHeaders },
  responses: { 200: json('The approval', approvalAnswer), ...problems('approval_not_found') },
});

const auditOfOne = createRoute({
  method: 'get',
  path: `${ONE}/audit`,
  tags: ['audit'],
  operationId: 'getApprovalAudit',
  summary: 'Who asked, who decided, and what used it',
  request: { params: approvalParams, query: auditQuery },
  responses: { 200: json('One page, oldest first', auditPage), ...problems('approval_not_found') },
});

function decision(verb: 'approve' | 'refuse', summary: string) {
  return createRoute({
    method: 'post',
    path: `${ONE}/${verb}`,
    tags,
    operationId: `${verb}Request`,
    summary,
    description:
      'By a key that has the `role` of the approval, is of its project, and is not the one that asks. Of two at once one decides.',
    request: {
      params: approvalParams,
      query: noQuery,
      body: { required: true, content: { 'application/json': { schema: decideApproval } } },
    },
    responses: {
      200: json('It is decided', approvalAnswer),
      ...problems(BODY, 'approval_not_found', 'approval_stale', 'approval_decided', 'temporal_unavailable'),
    },
  });
}

const withdrawOne = createRoute({
  method: 'post',
  path: `${ONE}/withdraw`,
  tags,
  operationId: 'withdrawRequest',
  summary: 'Ask no more: by the key that asked',
  request: { params: approvalParams, query: noQuery },
  responses: {
    200: json('Nobody can approve it any more', approvalAnswer),
    ...problems('approval_not_found', 'approval_decided', 'temporal_unavailable'),
  },
});

export function approvalRoutes(app: App): void {
  app.openapi(listAll, async (c) => {
    const { store } = c.get('deps');
    const { limit = LIMITS.page.default, project = store.viewer.project, state, cursor } = c.req.valid('query');
    requireSeesAll(c);
    await requireProject({ store }, project);
    const query = { project, limit, ...(state && { state }), ...(cursor !== undefined && { cursor }) };
    const page = await store.approvals.list(query);
    return c.json({ ...page, items: page.items.map(approvalView) }, 200);
  });
  app.openapi(getOne, async (c) => {
    const record = await requireApproval(c, c.req.valid('param').id);
    const { seconds, applied } = preferenceOf(c.req.valid('header').prefer);
    if (applied === null) return c.json(approvalView(record), 200);
    c.header('Preference-Applied', applied);
    return c.json(approvalView(await approvalAfter(c, c.get('deps'), record, seconds)), 200);
  });
  app.openapi(auditOfOne, async (c) => {
    const { id } = await requireApproval(c, c.req.valid('param').id);
    return c.json(await pageOfChain(c.get('deps'), id, c.req.valid('query')), 200);
  });
  for (const [verb, state, summary] of [
    ['approve', 'approved', 'Let a request be done, once'],
    ['refuse', 'refused', 'Refuse a request'],
  ] as const) {
    app.openapi(decision(verb, summary), async (c) => {
      const record = await requireApproval(c, c.req.valid('param').id);
      const { digest, reason = null, agentId = null } = c.req.valid('json');
      const why = whyNotDecider(record, c.get('apiKey'), agentId);
      if (why !== null) throw new MayflyError('forbidden', `It is not yours to decide on ${record.id}: ${why}.`);
      if (digest !== record.digest) throw new MayflyError('approval_stale', `That is not the digest of ${record.id}.`);
      const decidedBy = actorOf(c, agentId);
      return c.json(approvalView(await decide(c, record, { state, decidedBy, reason })), 200);
    });
  }
  app.openapi(withdrawOne, async (c) => {
    const record = await requireApproval(c, c.req.valid('param').id);
    if (record.askedBy.apiKeyId !== c.get('apiKey').id) {
      throw new MayflyError('forbidden', `${record.askedBy.apiKeyId} asks for ${record.id}, and alone withdraws it.`);
    }
    const decidedBy = actorOf(c, record.askedBy.agentId);
    return c.json(approvalView(await decide(c, record, { state: 'withdrawn', decidedBy, reason: null })), 200);
  });
}

type Decision = Pick<ApprovalRecord, 'decidedBy' | 'reason'> & { state: 'approved' | 'refused' | 'withdrawn' };

/** The same decision again is no other. @throws MayflyError approval_decided */
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

/** @throws MayflyError approval_not_found, also of one that may not be seen */
async function requireApproval(c: Context<Env>, id: string): Promise<ApprovalRecord> {
  const record = await c.get('deps').store.approvals.get(id);
  if (record && (seesAll(c) || record.askedBy.apiKeyId === c.get('apiKey').id)) return record;
  throw new MayflyError('approval_not_found', `There is no approval ${id}.`);
}
