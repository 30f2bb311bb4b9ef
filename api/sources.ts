import { createRoute, z } from '@hono/zod-openapi';
import type { HostRecord } from '../model/host.ts';
import { requires } from './auth.ts';
import type { App, AppDeps } from './context.ts';
import { sourceFields } from './hosts.ts';
import { isLive } from './placement.ts';
import { json, noQuery, pageOf, problems } from './schemas.ts';

const sourceAnswer = z.object({ ...sourceFields, hosts: z.array(z.string()) }).openapi('Source');
type SourceView = z.infer<typeof sourceAnswer>;

const listSources = createRoute({
  method: 'get',
  path: '/v1/sources',
  tags: ['hosts'],
  summary: 'List what sandboxes can be made from, on all live hosts',
  middleware: [requires('sandboxes:read')],
  request: { query: noQuery },
  responses: { 200: json('All sources', pageOf(sourceAnswer)), ...problems },
});

export function sourceRoutes(app: App, { store }: AppDeps): void {
  app.openapi(listSources, async (c) => {
    const live = (await store.hosts.list()).filter((host) => isLive(host));
    return c.json({ items: mergeSources(live), nextCursor: null }, 200);
  });
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
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
