import type { RunRecord } from './run.ts';

/** Of a run that is under way. */
export type Holder = Pick<RunRecord, 'id' | 'acceptedAt' | 'seq'>;

/** What becomes of a run and of those before it, where only the newest go on. */
export interface Superseding {
  /** The run that takes its place; null: it is among the newest. */
  by: string | null;
  /** Those under way that make room for it. */
  cancelled: Holder[];
}

/**
 * Of all with the same key, those that wait and those under way, the newest `limit` go on.
 * @param run the oldest that waits @param behind the ids of those that wait after it @param holders those under way that nobody has cancelled
 */
export function superseding(
  run: Holder,
  { limit, behind, holders }: { limit: number; behind: readonly string[]; holders: readonly Holder[] },
): Superseding {
  const newestFirst = holders.toSorted((a, b) => -compared(a, b));
  const newer = [...behind, ...newestFirst.filter((each) => compared(each, run) > 0).map(({ id }) => id)];
  if (newer.length >= limit) return { by: newer[0] ?? null, cancelled: [] };
  const older = newestFirst.filter((each) => compared(each, run) < 0);
  return { by: null, cancelled: older.slice(limit - 1 - newer.length) };
}

function compared(a: Holder, b: Holder): number {
  return a.acceptedAt.localeCompare(b.acceptedAt) || a.seq - b.seq || a.id.localeCompare(b.id);
}
