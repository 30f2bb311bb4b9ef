import { MayflyError } from './errors.ts';
import { type HostProposals, type HostRecord, proposalsOf, type SourceInfo } from './host.ts';
import type { Size } from './project-limits.ts';

/**
 * Of the hosts that have a source those on which a sandbox is made of the same: what nobody has compared with what is known
 * is compared by its host before it is cloned (`content` of the proposals). Where nothing is known yet the first host by its
 * id is asked alone, and makes it known.
 * @param hosts that have the source, the best first
 * @throws MayflyError source_differs
 */
export function alike(hosts: readonly HostRecord[], source: string): HostProposals {
  const contents = new Map(hosts.map((host) => [host, contentOn(host, source)]));
  const able = hosts.filter((host) => contents.get(host) !== undefined);
  if (able.length < 2) return proposalsOf(hosts);
  const difference = differenceOf(able, source);
  if (difference !== null) throw new MayflyError('source_differs', difference);
  const content = able.map((host) => contents.get(host)).find((known) => typeof known === 'string');
  if (content) return { ...proposalsOf(able), content };
  const [first] = able.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return proposalsOf(first ? [first] : []);
}

/** Why the hosts that can clone a source do not all make the same of it, as far as is known; null: they do. */
export function differenceOf(hosts: readonly HostRecord[], source: string): string | null {
  const hostsBy = new Map<string, string[]>();
  for (const host of hosts) {
    const content = contentOn(host, source);
    if (content) hostsBy.set(content, [...(hostsBy.get(content) ?? []), host.id]);
  }
  if (hostsBy.size < 2) return null;
  const groups = [...hostsBy.values()].map((ids) => ids.join(' and '));
  return `The source ${JSON.stringify(source)} of ${groups.join(' is not that of ')}: one name, and different disks.`;
}

/** What is known of the disks of a source on all hosts that can clone it: another list, another source. */
export function contentsOf(hosts: readonly HostRecord[], source: string): string[] {
  const known = hosts.flatMap(({ sources }) => sources.filter(({ name, cloneable }) => name === source && cloneable));
  return [...new Set(known.map(({ content, diskBytes }) => `${content ?? 'unknown'} ${diskBytes}`))].sort();
}

/** Null: nobody has looked yet; undefined: it cannot be cloned there. */
function contentOn({ sources }: HostRecord, name: string): string | null | undefined {
  const source = sources.find((one) => one.name === name && one.cloneable);
  return source && (source.content ?? null);
}

/** As large as is wished, or as the source is; of several hosts' the largest. */
export function sizeOfSource(
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
