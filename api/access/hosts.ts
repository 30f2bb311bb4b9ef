import { createRoute, z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { isLive, type KnownHost } from '../../model/host.ts';
import { ID_PATTERNS } from '../../model/ids.ts';
import type { Store } from '../../store/connect.ts';
import { actorOf, requires } from '../http/auth.ts';
import type { App, AppDeps } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { instant, json, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { waitWithin } from '../http/waiting.ts';

export const sourceFields = {
  name: z.string(),
  cloneable: z.boolean(),
  problem: z.string().nullable(),
  cpus: z.int(),
  memoryMib: z.int(),
  diskBytes: z.int(),
  content: z
    .string()
    .nullish()
    .openapi({ description: 'A digest of what its disks hold; null while nobody has read them, or it runs' }),
};

const hostAnswer = z
  .object({
    id: z.string(),
    installationId: z.string().nullable(),
    hostUuid: z.string().nullable(),
    live: z.boolean(),
    kind: z.enum(['libvirt', 'simulated']),
    isolation: z.enum(['kvm', 'tcg', 'none']),
    capacity: z.object({
      cpus: z.int(),
      memoryTotalMib: z.number(),
      memoryAvailableMib: z.number(),
      diskTotalBytes: z.number(),
      diskAvailableBytes: z.number(),
    }),
    promised: z.object({ memoryMib: z.number(), diskBytes: z.number(), sandboxes: z.int() }),
    poolMembers: z.int().openapi({ description: 'Sandboxes on it that pools keep ready, and nobody has claimed' }),
    templates: z.int().openapi({ description: 'Templates that sandboxes can wake from on it' }),
    sources: z.array(z.object(sourceFields)),
    startedAt: z.string(),
    lastSeenAt: z.string(),
    drainedAt: instant.nullable(),
    forgottenAt: instant.nullable(),
  })
  .openapi('Host');

const listHosts = createRoute({
  method: 'get',
  path: '/v1/hosts',
  tags: ['hosts'],
  operationId: 'listHosts',
  summary: 'List all hosts, as they last described themselves',
  middleware: [requires('operator')],
  request: { query: noQuery },
  responses: { 200: json('All hosts', pageOf(hostAnswer)), ...problems() },
});

const ONE = '/v1/hosts/{id}';
const hostParams = z.strictObject({
  id: z
    .string()
    .regex(new RegExp(ID_PATTERNS.host))
    .openapi({ param: { name: 'id', in: 'path' }, example: 'kvm-1' }),
});

const patchHost = createRoute({
  method: 'patch',
  path: ONE,
  tags: ['hosts'],
  operationId: 'updateHost',
  summary: 'Give a host no more sandboxes, or some again',
  description: 'What lives on it lives on.',
  middleware: [requires('operator')],
  request: {
    query: noQuery,
    params: hostParams,
    body: {
      required: true,
      content: { 'application/json': { schema: z.strictObject({ drained: z.boolean() }).openapi('PatchHost') } },
    },
  },
  responses: { 200: json('The host', hostAnswer), ...problems(BODY, 'not_found') },
});

const forgetHost = createRoute({
  method: 'delete',
  path: ONE,
  tags: ['hosts'],
  operationId: 'forgetHost',
  summary: 'Give up a host that is lost for good',
  description:
    'Its sandboxes end as `failed` with `host_forgotten`: nobody can look at it, so that nothing of them is left there is ' +
    '*unproved*. Its snapshots, captures and baked sources have failed. Refused while its worker runs. Should it come back, ' +
    'what is left on it is removed before it is given sandboxes.',
  middleware: [requires('operator')],
  request: { query: noQuery, params: hostParams, headers: preferHeaders },
  responses: {
    200: json('Nothing waits for it any more', hostAnswer),
    202: json('It is being forgotten', hostAnswer),
    ...problems('not_found', 'host_alive', 'temporal_unavailable'),
  },
});

export function hostRoutes(app: App, deps: AppDeps): void {
  const { store, sagas } = deps;
  const viewOf = async (host: KnownHost) => hostView(host, (await keptBy(store))(host.id));
  app.openapi(patchHost, async (c) => {
    const { id } = c.req.valid('param');
    const { drained } = c.req.valid('json');
    const { drainedAt } = await requireHost(deps, id);
    const since = drainedAt ?? new Date().toISOString();
    const host = await store.hosts.order(id, { drainedAt: drained ? since : null });
    deps.logger.info({ hostId: id, drained, apiKeyId: c.get('apiKey').id }, 'a host is drained, or no more');
    return c.json(await viewOf(host ?? (await requireHost(deps, id))), 200);
  });
  app.openapi(forgetHost, async (c) => {
    const { id } = c.req.valid('param');
    const preference = preferenceOf(c.req.valid('header').prefer);
    const host = await requireHost(deps, id);
    if (isLive(host)) throw new MayflyError('host_alive', `${id} was heard of at ${host.lastSeenAt}.`);
    const actor = actorOf(c);
    await sagas.forgetHost({ hostId: id, actor, at: new Date().toISOString() });
    const isOver = await waitWithin(c, deps, preference.seconds, (signal) => sagas.hostForgotten(id, signal));
    if (preference.applied) c.header('Preference-Applied', preference.applied);
    return c.json(await viewOf(await requireHost(deps, id)), isOver ? 200 : 202);
  });
  app.openapi(listHosts, async (c) => {
    const [hosts, kept] = await Promise.all([store.hosts.list(), keptBy(store)]);
    return c.json({ items: hosts.map((host) => hostView(host, kept(host.id))), nextCursor: null }, 200);
  });
}

/** @throws MayflyError not_found */
async function requireHost({ store }: Pick<AppDeps, 'store'>, id: string): Promise<KnownHost> {
  const host = await store.hosts.get(id);
  if (host) return host;
  throw new MayflyError('not_found', `No host ${id} was ever heard of.`);
}

/** What a host keeps for sandboxes that nobody has asked for yet. */
interface Kept {
  poolMembers: number;
  templates: number;
}

async function keptBy({ poolMembers, templates }: Store): Promise<(hostId: string) => Kept> {
  const [members, ready] = await Promise.all([poolMembers.unclaimed(), templates.all(['ready'])]);
  const count = (all: readonly { hostId: string | null }[], id: string) =>
    all.filter(({ hostId }) => hostId === id).length;
  return (id) => ({ poolMembers: count(members, id), templates: count(ready, id) });
}

function hostView(host: KnownHost, kept: Kept): z.infer<typeof hostAnswer> {
  const { id, installationId, hostUuid, kind, isolation, capacity, promised, sources, startedAt, lastSeenAt } = host;
  const { drainedAt = null, forgottenAt = null } = host;
  const identity = { id, installationId, hostUuid, live: isLive(host), drainedAt, forgottenAt };
  return { ...identity, kind, isolation, capacity, promised, ...kept, sources, startedAt, lastSeenAt };
}
