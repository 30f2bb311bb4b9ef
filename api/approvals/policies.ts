import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Policy } from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import { requireProject } from '../../services/require.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { actorOf } from '../http/auth.ts';
import type { Env } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { json } from '../http/schemas.ts';
import { policyAnswer, policyHeaders, policyQuery, policyRules, setPolicy } from './policy-schemas.ts';

const route = routeOf('approvals');

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
      const answer = await policyView(store, project);
      c.header('ETag', `"${answer.version}"`);
      return answer;
    },
  }),
  route('setPolicy', 'put', path, {
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
      const { version } = await policyView(store, project);
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
