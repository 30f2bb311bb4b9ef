import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { Project } from '../../model/project.ts';
import { grants } from '../../model/scopes.ts';
import { sumOf } from '../../model/snapshots/storage.ts';
import { deleteProject, refuseForeignSources } from '../../services/projects/delete-project.ts';
import type { Store } from '../../store/connect.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import { storedParts } from '../../store/stored-parts.ts';
import type { Env } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { json, pageOf } from '../http/schemas.ts';
import {
  createProject,
  patchProject,
  projectAnswer,
  projectParams,
  projectUsage,
  type Settings,
} from './project-schemas.ts';

const route = routeOf('projects');

const ALL = '/v1/projects';
const ONE = `${ALL}/{id}`;

/** @param deps with the whole store: what operators see */
export const projectRoutes: Route[] = [
  route('listProjects', 'get', ALL, {
    scope: 'operator',
    summary: 'List all projects, also deleted ones',
    out: { 200: json('All projects', pageOf(projectAnswer)) },
    handle: async ({ wholeStore: store }) => {
      const all = [...(await store.projects.known()).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      return { items: all, nextCursor: null };
    },
  }),
  route('createProject', 'post', ALL, {
    scope: 'operator',
    summary: 'Make a project: a tenant, which sees nothing of the others',
    description:
      'It may use no source but its own ones, unless `sources` names some. Keys are made for it with `project`.',
    in: { body: createProject },
    out: { 201: json('The project', projectAnswer) },
    problems: ['project_exists'],
    handle: async ({ wholeStore: store, body: { id, ...settings } }) => {
      await refuseForeignSources(store, id);
      const project = await store.projects.create(id, changesOf(settings));
      return project;
    },
  }),
  route('getProject', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read the project of the key that asks, or, for operators, any',
    in: { params: projectParams },
    out: { 200: json('The project', projectAnswer) },
    problems: ['project_not_found'],
    handle: async ({ c, wholeStore: store, params }) => await requireProject(c, store, params.id),
  }),
  route('getProjectUsage', 'get', `${ONE}/usage`, {
    scope: 'sandboxes:read',
    summary: 'What a project has of what it may have: of the key that asks, or, for operators, any',
    in: { params: projectParams },
    out: { 200: json('What it has now', projectUsage) },
    problems: ['project_not_found'],
    handle: async ({ c, wholeStore: store, params }) => {
      const { id, limits } = await requireProject(c, store, params.id);
      const [use, parts] = await Promise.all([store.admissions.useOf(id), storedParts(store)]);
      const diskBytes = sumOf(parts.filter(({ project }) => project === id));
      return { project: id, ...use, diskBytes, limits };
    },
  }),
  route('updateProject', 'patch', ONE, {
    scope: 'operator',
    summary: 'Change what a project may use; what is not named stays',
    description: 'All API processes go by it within a second. What was made before stays.',
    in: { params: projectParams, body: patchProject },
    out: { 200: json('The project', projectAnswer) },
    problems: ['project_not_found'],
    handle: async ({ wholeStore: store, params: { id }, body }) => {
      const project = await store.projects.change(id, changesOf(body));
      if (!project) throw notThere(id);
      await awaitCacheExpiry();
      return project;
    },
  }),
  route('deleteProject', 'delete', ONE, {
    scope: 'operator',
    summary: 'Delete a project in which nothing is left, and revoke its keys',
    description: 'Its id is not given again. What its audit says can be read by operators.',
    in: { params: projectParams },
    out: { 200: json('The project', projectAnswer) },
    problems: ['project_not_found', 'project_in_use'],
    handle: async ({ c, wholeStore: store, params }) => {
      const { id } = await requireProject(c, store, params.id);
      return deleteProject(store, id);
    },
  }),
];

/** What was named. */
function changesOf({ sources, limits }: Settings): Parameters<Store['projects']['change']>[1] {
  const named = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  return { ...(sources !== undefined && { sources }), ...(limits && { limits: Object.fromEntries(named) }) };
}

/** @throws MayflyError project_not_found, also for another's */
async function requireProject(c: Context<Env>, store: Store, id: string): Promise<Project> {
  const { project: own, scopes } = c.get('apiKey');
  const project = id === own || grants(scopes, 'operator') ? await store.projects.get(id) : null;
  if (project) return project;
  throw notThere(id);
}

function notThere(id: string): MayflyError {
  return new MayflyError('project_not_found', `There is no project ${id}.`);
}
