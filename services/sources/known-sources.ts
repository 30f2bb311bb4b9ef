import { MayflyError } from '../../model/errors.ts';
import { isLive, type StoredHost } from '../../model/host.ts';
import { describeContentDifference } from '../../model/source-content.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { assertPlaceable } from '../sandboxes/placement.ts';

type KnownSource = StoredHost['sources'][number] & { hosts: string[] };

/** Returns the sources of all live hosts, by name. */
export async function listSources(store: ProjectStore): Promise<KnownSource[]> {
  return mergeSources((await store.hosts.list()).filter((host) => isLive(host)));
}

/**
 * Returns a source that a live host lists, or one that is being baked.
 * @throws MayflyError source_not_found, no_host
 */
export async function describeSource(store: ProjectStore, name: string) {
  const baked = await store.bakedSources.named(name);
  const [making] = baked;
  const none = { cloneable: false, cpus: 0, memoryMib: 0, diskBytes: 0, hosts: [] };
  const source =
    (await listSources(store)).find((one) => one.name === name) ??
    (making && { ...none, name, problem: `It is ${making.state}.` });
  if (!source) await assertPlaceable(store, name);
  if (!source) throw new MayflyError('source_not_found', `No live host has a source ${JSON.stringify(name)}.`);
  return { ...source, access: await store.sources.named(name), baked };
}

/**
 * Merges the sources of hosts by name. Prefers the entry of a host that can clone the source, where a sandbox would be
 * placed.
 */
function mergeSources(hosts: readonly StoredHost[]): KnownSource[] {
  const merged = new Map<string, KnownSource>();
  for (const host of hosts) {
    for (const source of host.sources) {
      const known = merged.get(source.name);
      const speaker = known && (known.cloneable || !source.cloneable) ? known : source;
      merged.set(source.name, { ...speaker, hosts: [...(known?.hosts ?? []), host.id] });
    }
  }
  for (const [name, source] of merged) {
    const problem = describeContentDifference(hosts, name);
    if (problem) merged.set(name, { ...source, cloneable: false, problem });
  }
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
