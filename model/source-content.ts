import { MayflyError } from './errors.ts';
import { type CandidateHosts, type HostRecord, type SourceInfo, toCandidateHosts } from './host.ts';
import type { Size } from './project-limits.ts';

/**
 * Selects the hosts whose source has the same content. A host with unknown content compares it before it clones
 * (`content` of the proposals). When no content is known, proposes only the host with the smallest id, which then
 * establishes it.
 * @param hosts that have the source, best first
 * @throws MayflyError source_differs
 */
export function selectHostsWithSameContent(hosts: readonly HostRecord[], source: string): CandidateHosts {
  const contents = new Map(hosts.map((host) => [host, getContent(host, source)]));
  const able = hosts.filter((host) => contents.get(host) !== undefined);
  if (able.length < 2) return toCandidateHosts(hosts);
  const difference = describeContentDifference(able, source);
  if (difference !== null) throw new MayflyError('source_differs', difference);
  const content = able.map((host) => contents.get(host)).find((known) => typeof known === 'string');
  if (content) return { ...toCandidateHosts(able), content };
  const [first] = able.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return toCandidateHosts(first ? [first] : []);
}

/** Returns how the content of a source differs between hosts that can clone it; null when no difference is known. */
export function describeContentDifference(hosts: readonly HostRecord[], source: string): string | null {
  const hostsBy = new Map<string, string[]>();
  for (const host of hosts) {
    const content = getContent(host, source);
    if (content) hostsBy.set(content, [...(hostsBy.get(content) ?? []), host.id]);
  }
  if (hostsBy.size < 2) return null;
  const groups = [...hostsBy.values()].map((ids) => ids.join(' and '));
  return `The source ${JSON.stringify(source)} of ${groups.join(' is not that of ')}: one name, and different disks.`;
}

/** Lists the known contents of a source on all hosts that can clone it: a different list means a different source. */
export function listContents(hosts: readonly HostRecord[], source: string): string[] {
  const known = hosts.flatMap(({ sources }) => sources.filter(({ name, cloneable }) => name === source && cloneable));
  return [...new Set(known.map(({ content, diskBytes }) => `${content ?? 'unknown'} ${diskBytes}`))].sort();
}

/** Null: not read yet; undefined: the host cannot clone it. */
function getContent({ sources }: HostRecord, name: string): string | null | undefined {
  const source = sources.find((one) => one.name === name && one.cloneable);
  return source && (source.content ?? null);
}

/** Returns the requested size; defaults to the largest source of that name. */
export function getSourceSize(
  source: string,
  hosts: readonly HostRecord[],
  wished: { cpus?: number | null | undefined; memoryMib?: number | null | undefined },
): Size {
  const own = hosts.flatMap(({ sources }) => sources.filter(({ name }) => name === source));
  const largest = (of: (one: SourceInfo) => number) => Math.max(0, ...own.map(of));
  return {
    cpus:
      wished.cpus ??
      Math.max(
        1,
        largest(({ cpus }) => cpus),
      ),
    memoryMib: wished.memoryMib ?? largest(({ memoryMib }) => memoryMib),
  };
}
