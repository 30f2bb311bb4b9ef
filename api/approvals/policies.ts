import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { currentPolicy } from '../../services/approvals/policy-check.ts';
import { requireProject } from '../../services/service-deps.ts';
import { actorOf, type Env } from '../http/context.ts';
import { json } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { policyAnswer, policyHeaders, policyQuery, setPolicy } from './approval-schemas.ts';

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

/** @throws MayflyError project_not_found, also of one that may not be known */
async function projectOf(c: Context<Env>, named: string | undefined): Promise<string> {
  const { store } = c.get('deps');
  const project = named ?? store.viewer.project;
  await requireProject({ store }, project);
  return project;
}
