/** Memory that members of a pool held while nobody used them, since there is the pool. */
export interface Idle {
  mibHours: number;
  /** Up to when it is counted, ISO 8601. */
  at: string;
}

interface Holder {
  warmAt: string | null;
  memoryMib: number;
}

const HOUR_MS = 3_600_000;

/** With what members hold that are ready. Those that were claimed since the last look are not seen any more. @param now milliseconds since 1970 */
export function idleUntil({ mibHours, at }: Idle, members: readonly Holder[], now: number): Idle {
  const since = Date.parse(at);
  const held = members.map(({ warmAt, memoryMib }) => {
    const readySince = warmAt === null ? now : Math.max(since, Date.parse(warmAt));
    return (memoryMib * Math.max(0, now - readySince)) / HOUR_MS;
  });
  return { mibHours: held.reduce((sum, each) => sum + each, mibHours), at: new Date(now).toISOString() };
}
