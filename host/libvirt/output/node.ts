/** Parses `Label: 123 KiB` and `label : 123 KiB` to numbers, by lower-case label; a size is in KiB. */
function figures(text: string): Map<string, number> {
  return new Map(
    text.split(/\r?\n/).flatMap((line) => {
      const [, label, value] = /^\s*([^:]+?)\s*:\s*(\d+)(?:\s*(?:KiB|kB))?\s*$/.exec(line) ?? [];
      return label === undefined || value === undefined ? [] : [[label.toLowerCase(), Number(value)] as const];
    }),
  );
}

function mib(kib: number | undefined): number | null {
  return kib === undefined ? null : Math.floor(kib / 1024);
}

/** Parses `virsh nodeinfo`; null for missing values. */
export function nodeInfo(text: string): { cpus: number | null; memoryTotalMib: number | null } {
  const found = figures(text);
  return { cpus: found.get('cpu(s)') ?? null, memoryTotalMib: mib(found.get('memory size')) };
}

/**
 * Parses `virsh nodememstats`. Buffers and caches are freed on demand, so they count as available; some hosts do not
 * print them.
 */
export function nodeMemory(text: string): { memoryTotalMib: number | null; memoryAvailableMib: number | null } {
  const found = figures(text);
  const free = found.get('free');
  const available = free === undefined ? undefined : free + (found.get('buffers') ?? 0) + (found.get('cached') ?? 0);
  return { memoryTotalMib: mib(found.get('total')), memoryAvailableMib: mib(available) };
}
