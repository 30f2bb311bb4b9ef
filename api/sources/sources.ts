import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { type HostRecord, isLive } from '../../model/host.ts';
import { differenceOf } from '../../model/source-content.ts';
import { refuseUnplaceable } from '../../services/sandboxes/placement.ts';
import { auditedSource } from '../../services/sources/source-host.ts';
import { auditPage, pageOfChain } from '../audit/audit-page.ts';
import { type Route, routeOf } from '../http/route.ts';
import { json, pageOf } from '../http/schemas.ts';
import { sourceBakingRoutes } from './source-baking.ts';
import { sourcePowerRoutes } from './source-power.ts';
import { sourcePreparationRoutes } from './source-preparation.ts';
import { sourceReadRoutes } from './source-reads.ts';
import { sourceAnswer, sourceAuditQuery, sourceDetail, sourceParams } from './source-schemas.ts';

const route = routeOf('hosts');

type SourceView = z.infer<typeof sourceAnswer>;

export const sourceRoutes: Route[] = [
  ...sourcePowerRoutes,
  ...sourcePreparationRoutes,
  ...sourceReadRoutes,
  ...sourceBakingRoutes,
  route('getSource', 'get', '/v1/sources/{name}', {
    tag: 'sources',
    scope: 'sandboxes:read',
    summary: 'Read one source, and whether it can be looked at',
    in: { params: sourceParams },
    out: { 200: json('The source', sourceDetail) },
    problems: ['source_not_found', 'no_host'],
    handle: async ({ store, params: { name } }) => {
      const baked = await store.bakedSources.named(name);
      const live = (await store.hosts.list()).filter((host) => isLive(host));
      const source = mergeSources(live).find((one) => one.name === name) ?? inTheMaking(name, baked);
      if (!source) await refuseUnplaceable(store, name);
      if (!source) throw new MayflyError('source_not_found', `No live host has a source ${JSON.stringify(name)}.`);
      return { ...source, access: await store.sources.named(name), baked };
    },
  }),
  route('getSourceAudit', 'get', '/v1/sources/{name}/audit', {
    tag: 'audit',
    scope: 'operator',
    summary: 'Who prepared a source and looked at it, with what',
    in: { params: sourceParams, query: sourceAuditQuery },
    out: { 200: json('One page, oldest first', auditPage) },
    problems: ['source_not_found', 'no_host'],
    handle: async ({ deps, store, params, query: { hostId, ...range } }) => {
      const { id } = await auditedSource(store, params.name, hostId);
      return pageOfChain(deps, id, range);
    },
  }),
  route('listSources', 'get', '/v1/sources', {
    scope: 'sandboxes:read',
    summary: 'List what sandboxes can be made from, on all live hosts',
    out: { 200: json('All sources', pageOf(sourceAnswer)) },
    handle: async ({ store }) => {
      const live = (await store.hosts.list()).filter((host) => isLive(host));
      return { items: mergeSources(live), nextCursor: null };
    },
  }),
];

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
function mergeSources(hosts: readonly HostRecord[]): SourceView[] {
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
