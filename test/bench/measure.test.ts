import { describe, expect, it } from 'vitest';
import { sagaCost } from '../../bench/creates.ts';
import { emptyReport, reportLines } from '../../bench/report.ts';
import { Samples, spreadOf } from '../../bench/support/measure.ts';

describe('spreadOf', () => {
  it('returns measured values, not interpolated ones', () => {
    const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(spreadOf(samples)).toEqual({ runs: 100, medianMs: 50, p95Ms: 95, maxMs: 100 });
    expect(spreadOf([3])).toEqual({ runs: 1, medianMs: 3, p95Ms: 3, maxMs: 3 });
  });

  it('throws without samples', () => {
    expect(() => spreadOf([])).toThrow('nothing was measured');
  });
});

it('Samples keeps no time of a failure', async () => {
  const samples = new Samples();
  await expect(samples.time('x', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(samples.spreads()).toEqual({});
});

describe('a report', () => {
  const figure = (medianMs: number) => ({ runs: 1, medianMs, p95Ms: medianMs, maxMs: medianMs });
  const direct = { reserve: figure(5), cloneDisk: figure(15), create: figure(20), destroy: figure(9) };
  const saga = {
    create: figure(60),
    proposeHosts: figure(1),
    reserve: figure(25),
    cloneDisk: figure(30),
    destroy: figure(20),
  };
  const pair = { what: 'a whole create', ours: 'create', beside: 'reserve' };

  it('compares whole creates of one run, and divides by the steps that both have', () => {
    expect(sagaCost(direct, saga)).toEqual({ wholeMs: 40, perStepMs: 20, steps: 2 });
  });

  it('shows each measurement next to its baseline', () => {
    const pairs = [pair, { ...pair, most: { times: 3 } }, { ...pair, most: { moreMs: 30 } }];
    const lines = reportLines({
      ...emptyReport('simulated'),
      parts: { creates: { spreads: saga, pairs, lines: ['50 at once: 15 creates/s'] } },
    });
    expect(lines).toContain('creates');
    expect(lines).toContain('  a whole create / reserve: 2.4 times, 35 ms more');
    expect(lines).toContain('  a whole create / reserve: 2.4 times, 35 ms more (3 times at most)');
    expect(lines).toContain('  a whole create / reserve: 2.4 times, 35 ms more (30 ms more at most: MISSED)');
    expect(lines).toContain('  50 at once: 15 creates/s');
    expect(lines.join('\n')).not.toContain('NOT MEASURED');
  });

  it('names the part that failed, next to the measured ones', () => {
    const parts = { direct: { spreads: direct, pairs: [{ ...pair, beside: 'not there' }] } };
    const failed = [{ part: 'creates', why: 'no answer' }];
    const lines = reportLines({ ...emptyReport('simulated'), parts, failed });
    expect(lines.join('\n')).toContain('cloneDisk');
    expect(lines.join('\n')).not.toContain('not there');
    expect(lines).toContain('NOT MEASURED: creates: no answer');
  });
});
