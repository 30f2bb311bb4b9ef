import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { instant } from '../../model/fields.ts';
import { isLive, type StoredHost } from '../../model/host.ts';
import { hostRecord } from '../../model/host-record.ts';
import { ID_PATTERNS } from '../../model/ids.ts';
import { orThrow } from '../../services/service-deps.ts';
import type { Store } from '../../store/connect.ts';
import { actorOf, waitAsPreferred } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { json, pageOf, preferHeaders } from '../http/schemas.ts';
import { strip } from '../schema/strip.ts';

const route = routeOf('hosts');

const hostAnswer = hostRecord
  .omit({ epoch: true })
  .extend({
    live: z.boolean(),
    poolMembers: z.int().openapi({ description: 'Sandboxes on it that pools keep ready, and nobody has claimed' }),
    templates: z.int().openapi({ description: 'Templates that sandboxes can wake from on it' }),
    drainedAt: instant.nullable(),
    forgottenAt: instant.nullable(),
  })
  .openapi('Host');

const ONE = '/v1/hosts/{id}';
const hostParams = z.strictObject({
  id: z.string().regex(new RegExp(ID_PATTERNS.host)).openapi({ example: 'kvm-1' }),
});

export const hostRoutes: Route[] = [
  route('updateHost', 'patch', ONE, {
    scope: 'operator',
    summary: 'Give a host no more sandboxes, or some again',
    description: 'What lives on it lives on.',
    in: { params: hostParams, body: z.strictObject({ drained: z.boolean() }).openapi('PatchHost') },
    out: { 200: json('The host', hostAnswer) },
    problems: ['not_found'],
    handle: async ({ c, deps, wholeStore: store, params: { id }, body: { drained } }) => {
      const { drainedAt } = await requireHost(store, id);
      const since = drainedAt ?? new Date().toISOString();
      const host = await store.hosts.order(id, { drainedAt: drained ? since : null });
      deps.logger.info({ hostId: id, drained, apiKeyId: c.get('apiKey').id }, 'a host is drained, or no more');
      return viewOf(store, host ?? (await requireHost(store, id)));
    },
  }),
  route('deleteHost', 'delete', ONE, {
    scope: 'operator',
    summary: 'Give up a host that is lost for good',
    description:
      'Its sandboxes end as `failed` with `host_forgotten`: nobody can look at it, so that nothing of them is left there is ' +
      '*unproved*. Its snapshots, captures and baked sources have failed. Refused while its worker runs. Should it come back, ' +
      'what is left on it is removed before it is given sandboxes.',
    in: { params: hostParams, headers: preferHeaders },
    out: { 200: json('Nothing waits for it any more', hostAnswer), 202: json('It is being forgotten', hostAnswer) },
    problems: ['not_found', 'host_alive', 'temporal_unavailable'],
    handle: async ({ c, deps, wholeStore: store, params: { id } }) => {
      const { sagas } = deps;
      const host = await requireHost(store, id);
      if (isLive(host)) throw new MayflyError('host_alive', `${id} was heard of at ${host.lastSeenAt}.`);
      const actor = actorOf(c);
      await sagas.hosts.forget({ hostId: id, actor, at: new Date().toISOString() });
      const isOver = await waitAsPreferred(c, (signal) => sagas.hosts.forgotten(id, signal));
      return reply(isOver ? 200 : 202, await viewOf(store, await requireHost(store, id)));
    },
  }),
  route('listHosts', 'get', '/v1/hosts', {
    scope: 'operator',
    summary: 'List all hosts, as they last described themselves',
    out: { 200: json('All hosts', pageOf(hostAnswer)) },
    handle: async ({ wholeStore: store }) => {
      const [hosts, kept] = await Promise.all([store.hosts.list(), keptBy(store)]);
      return { items: hosts.map((host) => hostView(host, kept(host.id))), nextCursor: null };
    },
  }),
];

async function viewOf(store: Store, host: StoredHost) {
  return hostView(host, (await keptBy(store))(host.id));
}

/** @throws MayflyError not_found */
async function requireHost(store: Store, id: string): Promise<StoredHost> {
  return orThrow(await store.hosts.get(id), 'not_found', `No host ${id} was ever heard of.`);
}

/** Resources that a host holds ready for future sandboxes. */
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

function hostView(host: StoredHost, kept: Kept): z.infer<typeof hostAnswer> {
  const { drainedAt = null, forgottenAt = null } = host;
  return strip(hostAnswer, { ...host, ...kept, live: isLive(host), drainedAt, forgottenAt });
}
