import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { PoolInput, PoolRecord } from '../../model/pools/pool.ts';
import { NO_PROJECT } from '../../model/project.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { json, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { refuseUnplaceable } from '../resources/placement.ts';
import { poolAnswer, poolParams, poolQuery, poolView, setPool } from './pool-schemas.ts';

const ALL = '/v1/pools';
const ONE = `${ALL}/{name}`;
const tags = ['pools'];

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  middleware: [requires('sandboxes:read')],
  operationId: 'listPools',
  summary: 'List the pools of the project of the key that asks; operators see all, also those that projects share',
  request: { query: noQuery },
  responses: { 200: json('All pools', pageOf(poolAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  middleware: [requires('sandboxes:read')],
  operationId: 'getPool',
  summary: 'Read a pool: its members, what they were claimed for, and why there are too few',
  request: { query: poolQuery, params: poolParams },
  responses: { 200: json('The pool', poolAnswer), ...problems('pool_not_found') },
});

const setOne = createRoute({
  method: 'put',
  path: ONE,
  tags,
  middleware: [requires('admin')],
  operationId: 'setPool',
  summary: 'Keep sandboxes ready for the project of the key that asks',
  description:
    'Its members count in the quotas of the project. A create that asks for such a one has one of them at once, with no more than `boot: auto`. When what they are is changed, none of before can be claimed once this is answered.',
  request: {
    query: noQuery,
    params: poolParams,
    body: { required: true, content: { 'application/json': { schema: setPool } } },
  },
  responses: {
    200: json('The pool', poolAnswer),
    ...problems(BODY, 'source_not_found', 'no_host', 'too_many_requests', 'temporal_unavailable'),
  },
});

const deleteOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  middleware: [requires('admin')],
  operationId: 'deletePool',
  summary: 'End a pool, and all of its members that nobody has claimed',
  request: { query: poolQuery, params: poolParams, headers: preferHeaders },
  responses: {
    200: json('It is gone, and each of its members is proved to be', poolAnswer),
    202: json('Its members are being removed', poolAnswer),
    ...problems('pool_not_found', 'temporal_unavailable'),
  },
});

export function poolRoutes(app: App): void {
  app.openapi(listAll, async (c) => {
    const { store } = c.get('deps');
    const pools = await store.pools.list();
    const items = await Promise.all(pools.map((pool) => viewOf(c.get('deps'), pool)));
    return c.json({ items, nextCursor: null }, 200);
  });
  app.openapi(getOne, async (c) => {
    const pool = await requirePool(c, c.req.valid('param').name, c.req.valid('query').project);
    return c.json(await viewOf(c.get('deps'), pool), 200);
  });
  app.openapi(setOne, async (c) => {
    const { name } = c.req.valid('param');
    const { cpus = null, memoryMib = null, egress = 'none', shared = false, ...rest } = c.req.valid('json');
    const deps = c.get('deps');
    if (shared) await refuseSharing(c, rest.source);
    await refuseUnplaceable(deps.store, rest.source);
    const actor = actorOf(c);
    const project = shared ? NO_PROJECT : actor.project;
    const at = new Date().toISOString();
    await deps.sagas.setPool({ project, name, wish: { ...rest, cpus, memoryMib, egress }, actor, at });
    await awaitCacheExpiry();
    return c.json(await viewOf(deps, await requirePool(c, name, project)), 200);
  });
  app.openapi(deleteOne, async (c) => {
    const { name } = c.req.valid('param');
    const { project } = c.req.valid('query');
    return serialised(await answerDelete(c, name, project, c.req.valid('header').prefer));
  });
}

/** @throws MayflyError forbidden, source_not_found */
async function refuseSharing(c: Context<Env>, source: string): Promise<void> {
  const { store } = c.get('deps');
  if (!store.viewer.isOperator) throw new MayflyError('forbidden', 'Only operators set a pool that projects share.');
  if (await store.pools.mayShare(source)) return;
  throw new MayflyError('source_not_found', `${JSON.stringify(source)} is one project's: no pool of it can be shared.`);
}

async function viewOf({ store }: RequestDeps, pool: PoolRecord) {
  return poolView(pool, await store.pools.members(pool));
}

/** @throws MayflyError pool_not_found */
async function requirePool(c: Context<Env>, name: string, project?: string): Promise<PoolRecord> {
  const { store } = c.get('deps');
  const pool = await store.pools.get({ project: project ?? store.viewer.project, name });
  if (pool) return pool;
  throw new MayflyError('pool_not_found', `There is no pool ${name}.`);
}

async function answerDelete(
  c: Context<Env>,
  name: string,
  project: string | undefined,
  prefer: string | undefined,
): Promise<Response> {
  const deps = c.get('deps');
  let known: PoolRecord | null = null;
  return answerDeletion(c, deps, prefer, {
    location: `${ALL}/${name}`,
    read: async () => {
      const before = known;
      known = await requirePool(c, name, project).catch((error: unknown) => {
        if (before === null || !isNotFound(error)) throw error;
        return { ...before, state: 'deleted' as const };
      });
      return { pool: known, members: await deps.store.pools.members(known) };
    },
    view: ({ pool, members }) => poolView(pool, members),
    isGone: ({ pool }) => pool.state === 'deleted',
    begin: ({ pool }, actor) => deps.sagas.deletePool(inputOf(pool), actor),
    ended: ({ pool }, signal) => deps.sagas.poolDeleted(pool, signal),
  });
}

function isNotFound(error: unknown): boolean {
  return isMayflyError(error, 'pool_not_found');
}

/** For a pool whose workflow is gone. */
function inputOf({ project, name, createdBy: actor, ...wish }: PoolRecord): PoolInput {
  const { source, cpus, memoryMib, egress, min, max } = wish;
  const at = new Date().toISOString();
  return { project, name, wish: { source, cpus, memoryMib, egress, min, max }, actor, at };
}
