import { z } from '@hono/zod-openapi';
import { isMayflyError } from '../../model/errors.ts';
import { egress } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { type PoolRecord, poolRecord } from '../../model/pools/pool.ts';
import { isShared, type PoolInput } from '../../model/pools/pool-saga.ts';
import { intInRange, sourceName } from '../../model/request-fields.ts';
import { idleMibHoursOf, requirePool, setPool } from '../../services/pools/set-pool.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Responder, type Route, routeOf } from '../http/route.ts';
import { instant, json, pageOf, preferHeaders } from '../http/schemas.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { strip } from '../schema/strip.ts';

const NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const poolParams = z.strictObject({
  name: z
    .string()
    .regex(NAME, 'must be 1 to 63 of a-z, 0-9 and -, begin with a letter and not end with -')
    .openapi({ pattern: NAME.source, example: 'web' }),
});

const poolQuery = z.strictObject({
  project: z.string().max(63).optional().openapi({
    description:
      'Of that project; only operators see those of others. `-`: one that all projects share. Else of the key that asks',
  }),
});

const setSchema = z
  .strictObject({
    source: sourceName,
    cpus: intInRange(LIMITS.cpus, 'virtual CPUs').optional(),
    memoryMib: intInRange(LIMITS.memoryMib, 'MiB').optional(),
    egress: egress.optional(),
    min: intInRange(LIMITS.poolMembers, 'sandboxes'),
    max: intInRange(LIMITS.poolMembers, 'sandboxes'),
    shared: z.boolean().optional().openapi({
      description:
        "For all projects: operators may. Its members are no project's until one claims them. Default: false",
    }),
  })
  .refine(({ min, max }) => min <= max, { message: 'must not be less than min', path: ['max'] })
  .openapi('SetPool');

const poolAnswer = poolRecord
  .omit({ revision: true, refills: true, idle: true })
  .extend({
    shared: z.boolean(),
    members: z.array(
      z.object({
        sandboxId: z.string(),
        state: z.string(),
        hostId: z.string().nullable(),
        warmAt: instant.nullable(),
      }),
    ),
    idleMibHours: z.number().openapi({
      description:
        'Memory that its members held while they were ready and nobody had claimed them, since there is the pool',
    }),
  })
  .openapi('Pool');

function poolView(pool: PoolRecord, members: readonly StoredMember[]): z.infer<typeof poolAnswer> {
  return strip(poolAnswer, {
    ...pool,
    shared: isShared(pool),
    members: members.map((member) => ({ ...member, sandboxId: member.id, warmAt: member.pool?.warmAt ?? null })),
    idleMibHours: Math.round(idleMibHoursOf(pool, members) * 1_000) / 1_000,
  });
}

const route = routeOf('pools');

const ALL = '/v1/pools';
const ONE = `${ALL}/{name}`;

export const poolRoutes: Route[] = [
  route('listPools', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the pools of the project of the key that asks; operators see all, also those that projects share',
    out: { 200: json('All pools', pageOf(poolAnswer)) },
    handle: async ({ deps, store }) => {
      const pools = await store.pools.list();
      const items = await Promise.all(pools.map((pool) => viewOf(deps, pool)));
      return { items, nextCursor: null };
    },
  }),
  route('getPool', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read a pool: its members, what they were claimed for, and why there are too few',
    in: { query: poolQuery, params: poolParams },
    out: { 200: json('The pool', poolAnswer) },
    problems: ['pool_not_found'],
    handle: async ({ deps, params, query }) => viewOf(deps, await requirePool(deps, params.name, query.project)),
  }),
  route('putPool', 'put', ONE, {
    scope: 'admin',
    summary: 'Keep sandboxes ready for the project of the key that asks',
    description:
      'Its members count in the quotas of the project. A create that asks for such a one has one of them at once, with no more than `boot: auto`. When what they are is changed, none of before can be claimed once this is answered.',
    in: { params: poolParams, body: setSchema },
    out: { 200: json('The pool', poolAnswer) },
    problems: ['source_not_found', 'no_host', 'too_many_requests', 'temporal_unavailable'],
    handle: async ({ deps, actor, params, body }) => {
      const { cpus = null, memoryMib = null, egress = 'none', shared = false, ...rest } = body;
      const pool = await setPool(deps, actor, params.name, { ...rest, cpus, memoryMib, egress }, shared);
      return viewOf(deps, pool);
    },
  }),
  route('deletePool', 'delete', ONE, {
    scope: 'admin',
    summary: 'End a pool, and all of its members that nobody has claimed',
    in: { query: poolQuery, params: poolParams, headers: preferHeaders },
    out: {
      200: json('It is gone, and each of its members is proved to be', poolAnswer),
      202: json('Its members are being removed', poolAnswer),
    },
    problems: ['pool_not_found', 'temporal_unavailable'],
    location: ({ name }) => `${ALL}/${name}`,
    handle: (call) => answerDelete(call, call.params.name, call.query.project),
  }),
];

async function viewOf({ store }: RequestDeps, pool: PoolRecord) {
  return poolView(pool, await store.pools.members(pool));
}

async function answerDelete(
  responder: Responder<ReturnType<typeof poolView>>,
  name: string,
  project: string | undefined,
): Promise<Response> {
  const { deps } = responder;
  let known: PoolRecord | null = null;
  return answerDeletion(responder, {
    read: async () => {
      const before = known;
      known = await requirePool(deps, name, project).catch((error: unknown) => {
        if (before === null || !isNotFound(error)) throw error;
        return { ...before, state: 'deleted' as const };
      });
      return { pool: known, members: await deps.store.pools.members(known) };
    },
    view: ({ pool, members }) => poolView(pool, members),
    isGone: ({ pool }) => pool.state === 'deleted',
    begin: ({ pool }, actor) => deps.sagas.pools.delete(inputOf(pool), actor),
    ended: ({ pool }, signal) => deps.sagas.pools.deleted(pool, signal),
  });
}

function isNotFound(error: unknown): boolean {
  return isMayflyError(error, 'pool_not_found');
}

/** Returns the input for a pool whose workflow is lost. */
function inputOf({ project, name, createdBy: actor, ...wish }: PoolRecord): PoolInput {
  const { source, cpus, memoryMib, egress, min, max } = wish;
  const at = new Date().toISOString();
  return { project, name, wish: { source, cpus, memoryMib, egress, min, max }, actor, at };
}
