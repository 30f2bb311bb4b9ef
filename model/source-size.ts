import type { HostRecord, SourceInfo } from './host.ts';
import type { Size } from './project-limits.ts';

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
