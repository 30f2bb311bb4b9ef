/** Run of a key as its rule counted it, from admission to the end of its cleanup. Milliseconds. */
export interface Counted {
  key: string;
  /** Start of its attempt, and proof of its sandbox's end. */
  alive: { from: number; to: number };
  admitted: number;
  /** Release of its slot, shortly after that proof; until then the key counts it. */
  freed: number;
}

/** Returns keys with more concurrent runs than the limit, one line each. */
export function crowds(runs: readonly Counted[], limit: number): string[] {
  return [...byKey(runs)].flatMap(([key, own]) => {
    const most = Math.max(...own.map(({ alive: { from } }) => aliveAt(own, from)));
    return most > limit ? [`${most} of ${key} were alive at once`] : [];
  });
}

/** Lists starved keys: waiting, below the limit and not admitted, while another key was admitted twice. */
export function passedOver(runs: readonly Counted[], limit: number): string[] {
  const keys = byKey(runs);
  const faults: string[] = [];
  for (const [key, own] of keys) {
    for (const [n, { admitted: to }] of own.entries()) {
      const from = own[n - 1]?.admitted;
      if (from === undefined) continue;
      for (const [other, its] of keys) {
        if (other === key || its.some(({ admitted }) => admitted >= from && admitted <= to)) continue;
        const waits = its.some(({ admitted }) => admitted > to);
        if (waits && !isFullWithin(its, limit, from, to)) faults.push(`${key} came twice before ${other} came once`);
      }
    }
  }
  return faults;
}

function isFullWithin(own: readonly Counted[], limit: number, from: number, to: number): boolean {
  const edges = own.flatMap(({ admitted, freed }) => [admitted, freed]);
  const looks = [from, to, ...edges.filter((at) => at > from && at < to)];
  return looks.some((at) => own.filter(({ admitted, freed }) => admitted <= at && at <= freed).length >= limit);
}

function aliveAt(own: readonly Counted[], at: number): number {
  return own.filter(({ alive: { from, to } }) => from <= at && at < to).length;
}

function byKey(runs: readonly Counted[]): Map<string, Counted[]> {
  const keys = new Map<string, Counted[]>();
  for (const run of runs.toSorted((one, other) => one.admitted - other.admitted)) {
    keys.set(run.key, [...(keys.get(run.key) ?? []), run]);
  }
  return keys;
}
