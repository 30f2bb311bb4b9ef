import { createRoute, z } from '@hono/zod-openapi';
import { isLive, type KnownHost } from '../../model/host.ts';
import { requires } from '../http/auth.ts';
import type { App, AppDeps } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { json, noQuery, pageOf } from '../http/schemas.ts';

export const sourceFields = {
  name: z.string(),
  cloneable: z.boolean(),
  problem: z.string().nullable(),
  cpus: z.int(),
  memoryMib: z.int(),
  diskBytes: z.int(),
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
    sources: z.array(z.object(sourceFields)),
    startedAt: z.string(),
    lastSeenAt: z.string(),
  })
  .openapi('Host');

const listHosts = createRoute({
  method: 'get',
  path: '/v1/hosts',
  tags: ['hosts'],
  operationId: 'listHosts',
  summary: 'List all hosts, as they last described themselves',
  middleware: [requires('sandboxes:read')],
  request: { query: noQuery },
  responses: { 200: json('All hosts', pageOf(hostAnswer)), ...problems() },
});

export function hostRoutes(app: App, { store }: AppDeps): void {
  app.openapi(listHosts, async (c) => {
    return c.json({ items: (await store.hosts.list()).map(hostView), nextCursor: null }, 200);
  });
}

function hostView(host: KnownHost): z.infer<typeof hostAnswer> {
  const { id, installationId, hostUuid, kind, isolation, capacity, promised, sources, startedAt, lastSeenAt } = host;
  const identity = { id, installationId, hostUuid, live: isLive(host) };
  return { ...identity, kind, isolation, capacity, promised, sources, startedAt, lastSeenAt };
}
