import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { isProjectId, PROJECT_ID_PATTERN, type Project } from '../../model/project.ts';
import { printable } from '../../model/request-fields.ts';
import { grants } from '../../model/scopes.ts';
import { sumBytes } from '../../model/snapshots/storage.ts';
import { assertNoForeignSources, deleteProject } from '../../services/projects/delete-project.ts';
import type { Store } from '../../store/connect.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import { listStorageUse } from '../../store/stored-parts.ts';
import type { Env } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { instant, json, pageOf } from '../http/schemas.ts';

const projectId = z
  .string()
  .refine(isProjectId, 'must be 1 to 63 of a-z 0-9 -, and begin with a letter')
  .openapi({ pattern: PROJECT_ID_PATTERN, example: 'team-a' });

const projectParams = z.strictObject({ id: projectId });

function limit(max: number, description: string, min = 0) {
  return z
    .int()
    .min(min)
    .max(max)
    .nullable()
    .optional()
    .openapi({ description: `${description}; null: no limit` });
}

const { max, maxMemoryMib } = LIMITS.projectLimits;
const limits = z
  .strictObject({
    sandboxes: limit(max, 'Sandboxes that have not ended'),
    cpus: limit(max, 'Their virtual CPUs'),
    memoryMib: limit(maxMemoryMib, 'Their memory, MiB, also of those that are paused or hibernated'),
    diskBytes: limit(LIMITS.quotaBytes.max, 'What they and snapshots take of disks, bytes', LIMITS.quotaBytes.min),
    createsPerMinute: limit(max, 'Sandboxes that are asked for within 60 s'),
    streams: limit(max, 'Event streams that are open at one API process'),
  })
  .openapi('LimitProject', { description: 'What it may have at once; what is not named stays' });

const settings = {
  limits: limits.optional(),
  sources: z.array(printable(LIMITS.sourceName.maxLength)).max(LIMITS.projectSources).nullable().optional().openapi({
    description:
      'Names of the sources that it may use beside its own ones, which are called `<project>.…`; null: all but those of other projects',
  }),
};

const createProject = z.strictObject({ id: projectId, ...settings }).openapi('CreateProject');

type Settings = Omit<z.infer<typeof createProject>, 'id'>;

const patchProject = z
  .strictObject(settings)
  .refine((changes) => Object.keys(changes).length > 0, { message: 'must change something' })
  .openapi('PatchProject', { minProperties: 1 });

const projectAnswer = z
  .object({
    id: z.string(),
    sources: z.array(z.string()).nullable(),
    limits: limits.required(),
    createdAt: instant,
    deletedAt: instant.nullable(),
  })
  .openapi('Project');

const projectUsage = z
  .object({
    project: z.string(),
    sandboxes: z.int().openapi({ description: 'That have not ended, and those that are about to begin' }),
    cpus: z.int(),
    memoryMib: z.int(),
    diskBytes: z.number(),
    createsLastMinute: z.int().openapi({ description: 'Counted only while the project has a limit' }),
    limits: projectAnswer.shape.limits,
  })
  .openapi('ProjectUsage');

const route = routeOf('projects');

const ALL = '/v1/projects';
const ONE = `${ALL}/{id}`;

/** Routes of projects, with the store of all projects: for operators. */
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
      await assertNoForeignSources(store, id);
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
      const [use, parts] = await Promise.all([store.admissions.useOf(id), listStorageUse(store)]);
      const diskBytes = sumBytes(parts.filter(({ project }) => project === id));
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

/** Returns only the fields that the request names. */
function changesOf({ sources, limits }: Settings): Parameters<Store['projects']['change']>[1] {
  const named = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  return { ...(sources !== undefined && { sources }), ...(limits && { limits: Object.fromEntries(named) }) };
}

/** @throws MayflyError project_not_found, also for another project */
async function requireProject(c: Context<Env>, store: Store, id: string): Promise<Project> {
  const { project: own, scopes } = c.get('apiKey');
  const project = id === own || grants(scopes, 'operator') ? await store.projects.get(id) : null;
  if (project) return project;
  throw notThere(id);
}

function notThere(id: string): MayflyError {
  return new MayflyError('project_not_found', `There is no project ${id}.`);
}
