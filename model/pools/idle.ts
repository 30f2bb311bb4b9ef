/** Memory held by unclaimed members over the lifetime of a pool. */
export interface IdleMemory {
  mibHours: number;
  /** End of the counted time, ISO 8601. */
  at: string;
}

interface Holder {
  warmAt: string | null;
  memoryMib: number;
}

const HOUR_MS = 3_600_000;

/** Adds the memory of ready members. Misses members claimed since the last count. @param now ms since 1970 */
export function addIdleMemory({ mibHours, at }: IdleMemory, members: readonly Holder[], now: number): IdleMemory {
  const since = Date.parse(at);
  const held = members.map(({ warmAt, memoryMib }) => {
    const readySince = warmAt === null ? now : Math.max(since, Date.parse(warmAt));
    return (memoryMib * Math.max(0, now - readySince)) / HOUR_MS;
  });
  return { mibHours: held.reduce((sum, each) => sum + each, mibHours), at: new Date(now).toISOString() };
}
