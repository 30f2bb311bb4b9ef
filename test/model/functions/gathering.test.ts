import { describe, expect, it } from 'vitest';
import { closeGroup, selectNewest } from '../../../model/functions/gathering.ts';
import type { Gathering } from '../../../model/functions/run.ts';
import { LIMITS } from '../../../model/limits.ts';
import { runRecord } from '../../store/run-records.ts';

const second = (n: number) => new Date(n * 1_000).toISOString();
const all = (gathering: Gathering, times: readonly number[], changes = {}) =>
  times.map((time, n) => runRecord(n, { gathering, acceptedAt: second(time), ...changes }));

describe('debounce', () => {
  const rule: Gathering = { kind: 'debounce', periodMs: 10_000, maxWaitMs: 25_000 };

  it.each([
    [[0], 9, { until: 10_000 }],
    [[0], 10, { closed: 1 }],
    [[0, 9], 12, { until: 19_000 }],
    [[0, 11], 12, { closed: 1 }],
    [[0, 9, 18, 24], 24, { until: 25_000 }],
    [[0, 9, 18, 24, 26], 26, { closed: 4 }],
  ])('with arrivals at %j is at %i s %j', (times, now, expected) => {
    expect(closeGroup(all(rule, times), now * 1_000)).toEqual(expected);
  });

  it('ends at the limit of events', () => {
    const times = Array.from({ length: LIMITS.functions.debounced }, () => 0);
    expect(closeGroup(all(rule, times), 0)).toEqual({ closed: times.length });
  });

  it('uses the newest event by its time in any zone, of equal ones the later; without a time by arrival', () => {
    const of = (n: number, time: string | null, acceptedAt: string) =>
      runRecord(n, { acceptedAt, event: { id: '', source: '', type: '', time } });
    const runs = [
      of(1, '1970-01-01T02:00:30+02:00', second(5)),
      of(2, '1970-01-01T00:00:20Z', second(6)),
      of(3, null, second(7)),
    ] as const;
    expect(selectNewest([...runs]).id).toBe(runs[0].id);
    expect(selectNewest([runs[1], runs[2]]).id).toBe(runs[1].id);
    expect(selectNewest([...runs, of(4, '1970-01-01T00:00:30Z', second(8))]).seq).toBe(4);
  });
});

describe('a batch', () => {
  const rule: Gathering = { kind: 'batch', maxSize: 3, maxWaitMs: 10_000 };

  it.each([
    [[0, 1], 9, { until: 10_000 }],
    [[0, 1], 10, { closed: 2 }],
    [[0, 1, 2], 3, { closed: 3 }],
    [[0, 1, 2, 3], 3, { closed: 3 }],
  ])('with arrivals at %j is at %i s %j', (times, now, expected) => {
    expect(closeGroup(all(rule, times), now * 1_000)).toEqual(expected);
  });

  it('is limited to the bytes that fit into a guest, and to one version', () => {
    const bytes = LIMITS.functions.batchBytes;
    expect(closeGroup(all(rule, [0, 1], { eventBytes: bytes / 2 + 1 }), 1_000)).toEqual({ closed: 1 });
    const versions = [...all(rule, [0]), ...all(rule, [1], { versionDigest: 'other' })];
    expect(closeGroup(versions, 1_000)).toEqual({ closed: 1 });
    const kinds = [...all(rule, [0]), ...all({ kind: 'debounce', periodMs: 1, maxWaitMs: 1 }, [1])];
    expect(closeGroup(kinds, 1_000)).toEqual({ until: 10_000 });
  });
});
