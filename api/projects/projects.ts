import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { Project } from '../../model/project.ts';
import { grants } from '../../model/scopes.ts';
import { sumOf } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { storedParts } from '../../store/stored-parts.ts';
import { requires } from '../http/auth.ts';
import type { App, AppDeps, Env } from '../http/context.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { json, noQuery, pageOf } from '../http/schemas.ts';
import {
  createProject,
  patchProject,
  projectAnswer,
  projectParams,
  projectUsage,
  projectView,
  type Settings,
} from './project-schemas.ts';

const ALL = '/v1/projects';
const ONE = `${ALL}/{id}`;
const tags = ['projects'];
const operators = [requires('operator')];

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  middleware: operators,
  operationId: 'listProjects',
  summary: 'List all projects, also deleted ones',
  request: { query: noQuery },
  responses: { 200: json('All projects', pageOf(projectAnswer)), ...problems() },
});

const createOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  middleware: operators,
  operationId: 'createProject',
  summary: 'Make a project: a tenant, which sees nothing of the others',
  description:
    'It may use no source but its own ones, unless `sources` names some. Keys are made for it with `project`.',
  request: {
    query: noQuery,
    body: { required: true, content: { 'application/json': { schema: createProject } } },
  },
  responses: { 201: json('The project', projectAnswer), ...problems(BODY, 'project_exists') },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  middleware: [requires('sandboxes:read')],
  operationId: 'getProject',
  summary: 'Read the project of the key that asks, or, for operators, any',
  request: { query: noQuery, params: projectParams },
  responses: { 200: json('The project', projectAnswer), ...problems('project_not_found') },
});

const usageOfOne = createRoute({
  method: 'get',
  path: `${ONE}/usage`,
  tags,
  middleware: [requires('sandboxes:read')],
  operationId: 'getProjectUsage',
  summary: 'What a project has of what it may have: of the key that asks, or, for operators, any',
  request: { query: noQuery, params: projectParams },
  responses: { 200: json('What it has now', projectUsage), ...problems('project_not_found') },
});

const patchOne = createRoute({
  method: 'patch',
  path: ONE,
  tags,
  middleware: operators,
  operationId: 'updateProject',
  summary: 'Change what a project may use; what is not named stays',
  description: 'All API processes go by it within a second. What was made before stays.',
  request: {
    query: noQuery,
    params: projectParams,
    body: { required: true, content: { 'application/json': { schema: patchProject } } },
  },
  responses: { 200: json('The project', projectAnswer), ...problems(BODY, 'project_not_found') },
});

const deleteOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  middleware: operators,
  operationId: 'deleteProject',
  summary: 'Delete a project in which nothing is left, and revoke its keys',
  description: 'Its id is not given again. What its audit says can be read by operators.',
  request: { query: noQuery, params: projectParams },
  responses: { 200: json('The project', projectAnswer), ...problems('project_not_found', 'project_in_use') },
});

/** @param deps with the whole store: what operators see */
export function projectRoutes(app: App, { store }: AppDeps): void {
  app.openapi(listAll, async (c) => {
    const all = [...(await store.projects.known()).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return c.json({ items: all.map(projectView), nextCursor: null }, 200);
  });
  app.openapi(createOne, async (c) => {
    const { id, ...settings } = c.req.valid('json');
    await refuseForeignSources(store, id);
    const project = await store.projects.create(id, changesOf(settings));
    return c.json(projectView(project), 201);
  });
  app.openapi(getOne, async (c) => c.json(projectView(await requireProject(c, store, c.req.valid('param').id)), 200));
  app.openapi(usageOfOne, async (c) => {
    const { id, limits } = await requireProject(c, store, c.req.valid('param').id);
    const [use, parts] = await Promise.all([store.admissions.useOf(id), storedParts(store)]);
    const diskBytes = sumOf(parts.filter(({ project }) => project === id));
    return c.json({ project: id, ...use, diskBytes, limits }, 200);
  });
  app.openapi(patchOne, async (c) => {
    const { id } = c.req.valid('param');
    const project = await store.projects.change(id, changesOf(c.req.valid('json')));
    if (!project) throw notThere(id);
    await awaitCacheExpiry();
    return c.json(projectView(project), 200);
  });
  app.openapi(deleteOne, async (c) => {
    const { id } = await requireProject(c, store, c.req.valid('param').id);
    return c.json(projectView(await deleted(store, id)), 200);
  });
}

/** What was named. */
function changesOf({ sources, limits }: Settings): Parameters<Store['projects']['change']>[1] {
  const named = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  return { ...(sources !== undefined && { sources }), ...(limits && { limits: Object.fromEntries(named) }) };
}

/** @throws MayflyError project_not_found, also for another's */
export async function requireProject(c: Context<Env>, store: Store, id: string): Promise<Project> {
  const { project: own, scopes } = c.get('apiKey');
  const project = id === own || grants(scopes, 'operator') ? await store.projects.get(id) : null;
  if (project) return project;
  throw notThere(id);
}

/** What is called `<project>.…` would be its own from then on. @throws MayflyError project_exists */
async function refuseForeignSources({ hosts }: Store, id: string): Promise<void> {
  const names = (await hosts.list()).flatMap(({ sources }) => sources.map(({ name }) => name));
  const foreign = names.find((name) => name.startsWith(`${id}.`));
  if (foreign === undefined) return;
  throw new MayflyError('project_exists', `The source ${JSON.stringify(foreign)} would belong to a project ${id}.`);
}

/**
 * Marked first, so that its keys are refused: whoever begins something meanwhile is seen, or was refused.
 * @throws MayflyError project_in_use
 */
async function deleted(store: Store, id: string): Promise<Project> {
  const deletedAt = new Date().toISOString();
  const before = await store.projects.markDeleted(id, deletedAt);
  if (before) await awaitCacheExpiry(); // what begins until then is seen below
  const left = before ? await leftOf(store, id) : 'it is the first project';
  if (!before || left !== null) {
    await store.projects.markDeleted(id, null);
    await awaitCacheExpiry();
    throw new MayflyError('project_in_use', `The project ${id} is not deleted: ${left}.`);
  }
  const keys = (await store.apiKeys.list()).filter(({ project, revokedAt }) => project === id && revokedAt === null);
  for (const key of keys) await store.apiKeys.revokeUnlessLast(key.id);
  return { ...before, deletedAt };
}

/** Null: nothing. */
async function leftOf(store: Store, id: string): Promise<string | null> {
  const { sandboxes, pools, snapshots, captures, bakedSources } = store;
  const isIts = ({ project }: { project: string }) => project === id;
  const living = (await sandboxes.list({ project: id, alive: true, limit: 1 })).items;
  const kept = (await snapshots.kept()).filter(isIts);
  const copies = (await captures.all(['creating', 'ready', 'deleting'])).filter(isIts);
  const baked = (await bakedSources.all(['baking', 'ready', 'deleting'])).filter(isIts);
  const ready = (await pools.all()).filter(isIts).map(({ name }) => ({ id: `the pool ${name}` }));
  const [first] = [...living, ...ready, ...kept, ...copies, ...baked, ...(await setUpIn(store, id))];
  return first ? `${first.id} is left of it` : null;
}

/** What acts by itself, or is kept for who acts: the events of a deleted project are refused, and nobody could delete these. */
async function setUpIn(
  { functions, functionSetups, schedules, webhookEndpoints, secrets }: Store,
  project: string,
): Promise<{ id: string }[]> {
  const named = (what: string, all: readonly { name: string }[]) =>
    all.map(({ name }) => ({ id: `the ${what} ${name}` }));
  const setups = (await functionSetups.all()).filter((setup) => setup.project === project);
  const unreadable: Unreadable[] = [];
  return [
    ...named('schedule', await schedules.list(project, unreadable)),
    ...named('function', await functions.list(project)),
    ...setups.map(() => ({ id: 'the setup of a function' })),
    ...(await webhookEndpoints.list(project, unreadable)),
    ...named('secret', await secrets.list(project)),
    ...unreadable,
  ];
}

function notThere(id: string): MayflyError {
  return new MayflyError('project_not_found', `There is no project ${id}.`);
}
