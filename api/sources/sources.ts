import { createRoute, type z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { type HostRecord, isLive } from '../../model/host.ts';
import { differenceOf } from '../../model/source-content.ts';
import { auditPage, pageOfChain } from '../audit/audit-page.ts';
import { requires } from '../http/auth.ts';
import type { App } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { json, noQuery, pageOf } from '../http/schemas.ts';
import { refuseUnplaceable } from '../resources/placement.ts';
import { accessView } from './access-view.ts';
import { bakedView } from './baked-view.ts';
import { sourceBakingRoutes } from './source-baking.ts';
import { auditedSource } from './source-host.ts';
import { sourcePowerRoutes } from './source-power.ts';
import { sourcePreparationRoutes } from './source-preparation.ts';
import { sourceReadRoutes } from './source-reads.ts';
import { sourceAnswer, sourceAuditQuery, sourceDetail, sourceParams } from './source-schemas.ts';

type SourceView = z.infer<typeof sourceAnswer>;

const listSources = createRoute({
  method: 'get',
  path: '/v1/sources',
  tags: ['hosts'],
  operationId: 'listSources',
  summary: 'List what sandboxes can be made from, on all live hosts',
  middleware: [requires('sandboxes:read')],
  request: { query: noQuery },
  responses: { 200: json('All sources', pageOf(sourceAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: '/v1/sources/{name}',
  tags: ['sources'],
  operationId: 'getSource',
  summary: 'Read one source, and whether it can be looked at',
  middleware: [requires('sandboxes:read')],
  request: { params: sourceParams, query: noQuery },
  responses: { 200: json('The source', sourceDetail), ...problems('source_not_found', 'no_host') },
});

const auditOfOne = createRoute({
  method: 'get',
  path: '/v1/sources/{name}/audit',
  tags: ['audit'],
  operationId: 'getSourceAudit',
  summary: 'Who prepared a source and looked at it, with what',
  middleware: [requires('operator')],
  request: { params: sourceParams, query: sourceAuditQuery },
  responses: { 200: json('One page, oldest first', auditPage), ...problems('source_not_found', 'no_host') },
});

export function sourceRoutes(app: App): void {
  sourcePowerRoutes(app);
  sourcePreparationRoutes(app);
  sourceReadRoutes(app);
  sourceBakingRoutes(app);
  app.openapi(getOne, async (c) => {
    const { name } = c.req.valid('param');
    const baked = (await c.get('deps').store.bakedSources.named(name)).map(bakedView);
    const live = (await c.get('deps').store.hosts.list()).filter((host) => isLive(host));
    const source = mergeSources(live).find((one) => one.name === name) ?? inTheMaking(name, baked);
    if (!source) await refuseUnplaceable(c.get('deps').store, name);
    if (!source) throw new MayflyError('source_not_found', `No live host has a source ${JSON.stringify(name)}.`);
    return c.json({ ...source, access: (await c.get('deps').store.sources.named(name)).map(accessView), baked }, 200);
  });
  app.openapi(auditOfOne, async (c) => {
    const { hostId, ...range } = c.req.valid('query');
    const { id } = await auditedSource(c.get('deps').store, c.req.valid('param').name, hostId);
    return c.json(await pageOfChain(c.get('deps'), id, range), 200);
  });
  app.openapi(listSources, async (c) => {
    const live = (await c.get('deps').store.hosts.list()).filter((host) => isLive(host));
    return c.json({ items: mergeSources(live), nextCursor: null }, 200);
  });
}

/** What no host lists, but has been asked for: how far that came. */
function inTheMaking(name: string, baked: z.infer<typeof sourceDetail>['baked']): SourceView | null {
  const [one] = baked;
  if (!one) return null;
  return { name, cloneable: false, problem: `It is ${one.state}.`, cpus: 0, memoryMib: 0, diskBytes: 0, hosts: [] };
}

/**
 * One entry a name, with the hosts that have it. A host that can clone it speaks for the others: that is where a
 * sandbox would be placed.
 */
export function mergeSources(hosts: readonly HostRecord[]): SourceView[] {
  const merged = new Map<string, SourceView>();
  for (const host of hosts) {
    for (const source of host.sources) {
      const known = merged.get(source.name);
      const speaker = known && (known.cloneable || !source.cloneable) ? known : source;
      merged.set(source.name, { ...speaker, hosts: [...(known?.hosts ?? []), host.id] });
    }
  }
  for (const [name, source] of merged) {
    const problem = differenceOf(hosts, name);
    if (problem) merged.set(name, { ...source, cloneable: false, problem });
  }
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
