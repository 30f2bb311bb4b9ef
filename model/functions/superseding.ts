import type { RunRecord } from './run.ts';

/** Run with its order of acceptance. */
export type Holder = Pick<RunRecord, 'id' | 'acceptedAt' | 'seq'>;

/** Decision for a concurrency rule under which only the newest runs continue. */
export interface Superseding {
  /** Run that replaces this one; null: it is among the newest. */
  by: string | null;
  /** Active runs to cancel in favor of this one. */
  cancelled: Holder[];
}

/**
 * Selects the newest `limit` of all waiting and active runs of a key.
 * @param run oldest waiting run
 * @param behind ids of the runs waiting after it
 * @param holders active, uncancelled runs
 */
export function decideSuperseding(
  run: Holder,
  { limit, behind, holders }: { limit: number; behind: readonly string[]; holders: readonly Holder[] },
): Superseding {
  const newestFirst = holders.toSorted((a, b) => -compareAcceptance(a, b));
  const newer = [...behind, ...newestFirst.filter((each) => compareAcceptance(each, run) > 0).map(({ id }) => id)];
  if (newer.length >= limit) return { by: newer[0] ?? null, cancelled: [] };
  const older = newestFirst.filter((each) => compareAcceptance(each, run) < 0);
  return { by: null, cancelled: older.slice(limit - 1 - newer.length) };
}

function compareAcceptance(a: Holder, b: Holder): number {
  return a.acceptedAt.localeCompare(b.acceptedAt) || a.seq - b.seq || a.id.localeCompare(b.id);
}
