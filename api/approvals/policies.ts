import { createRoute, type z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Policy } from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { actorOf, requires } from '../http/auth.ts';
import type { App, Env } from '../http/context.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { json } from '../http/schemas.ts';
import { requireProject } from '../projects/require-project.ts';
import { policyAnswer, policyHeaders, policyQuery, policyRules, setPolicy } from './policy-schemas.ts';

const path = '/v1/policies';
const tags = ['approvals'];

const getOne = createRoute({
  method: 'get',
  path,
  tags,
  operationId: 'getPolicy',
  summary: 'Read what a project lets be done, has asked for, and denies',
  middleware: [requires('sandboxes:read')],
  request: { query: policyQuery },
  responses: { 200: json('The policy; `ETag` is its version', policyAnswer), ...problems('project_not_found') },
});

const setOne = createRoute({
  method: 'put',
  path,
  tags,
  operationId: 'setPolicy',
  summary: 'Set the rules of a project, which hold from the next request on',
  description:
    'All of them; each change is another version. What was approved before is looked at again when it is used.',
  middleware: [requires('admin')],
  request: {
    query: policyQuery,
    headers: policyHeaders,
    body: { required: true, content: { 'application/json': { schema: setPolicy } } },
  },
  responses: { 200: json('The policy', policyAnswer), ...problems(BODY, 'project_not_found', 'policy_changed') },
});

export function policyRoutes(app: App): void {
  app.openapi(getOne, async (c) => {
    const project = await projectOf(c, c.req.valid('query').project);
    const answer = await policyView(c.get('deps').store, project);
    c.header('ETag', `"${answer.version}"`);
    return c.json(answer, 200);
  });
  app.openapi(setOne, async (c) => {
    const { store } = c.get('deps');
    const project = await projectOf(c, c.req.valid('query').project);
    const { 'if-match': wanted = '*' } = c.req.valid('header');
    const { version } = await policyView(store, project);
    if (wanted !== '*' && wanted !== `"${version}"`) {
      throw new MayflyError('policy_changed', `The policy of ${project} has the version ${version} by now.`);
    }
    const { rules } = c.req.valid('json');
    const createdBy = actorOf(c);
    const createdAt = new Date().toISOString();
    await store.policies.add({ project, version: version + 1, rules, createdBy, createdAt });
    c.header('ETag', `"${version + 1}"`);
    return c.json({ project, version: version + 1, rules, isReadable: true, createdBy, createdAt }, 200);
  });
}

/** The one that holds; null: everything is let be done. @throws MayflyError policy_denied when it can't be read */
export async function policyOf(
  store: ProjectStore,
  project: string,
): Promise<Pick<Policy, 'version' | 'rules'> | null> {
  const { version, rules, isReadable } = await policyView(store, project);
  if (!isReadable)
    throw new MayflyError('policy_denied', `The policy of ${project} cannot be read; an admin sets it anew.`);
  return rules.length === 0 ? null : { version, rules };
}

async function policyView(store: ProjectStore, project: string): Promise<z.infer<typeof policyAnswer>> {
  const found = await store.policies.current(project);
  if (!found) return { project, version: 0, rules: [], isReadable: true, createdBy: null, createdAt: null };
  const { version, createdBy, createdAt } = found;
  const read = policyRules.safeParse(found.rules);
  const rules = read.success ? read.data : [];
  return { project, version, rules, isReadable: read.success, createdBy, createdAt };
}

/** @throws MayflyError project_not_found, also of one that may not be known */
async function projectOf(c: Context<Env>, named: string | undefined): Promise<string> {
  const { store } = c.get('deps');
  const project = named ?? store.viewer.project;
  await requireProject({ store }, project);
  return project;
}
