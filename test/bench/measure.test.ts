import { describe, expect, it } from 'vitest';
import { Samples, spreadOf } from '../../bench/measure/measure.ts';
import { type Report, reportLines, sagaCost } from '../../bench/report.ts';

describe('spreadOf', () => {
  it('gives values that were measured, not values in between', () => {
    const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(spreadOf(samples)).toEqual({ runs: 100, medianMs: 50, p95Ms: 95, maxMs: 100 });
    expect(spreadOf([3])).toEqual({ runs: 1, medianMs: 3, p95Ms: 3, maxMs: 3 });
  });

  it('makes no figure of nothing', () => {
    expect(() => spreadOf([])).toThrow('nothing was measured');
  });
});

describe('Samples', () => {
  it('keeps no time of what failed', async () => {
    const samples = new Samples();
    await expect(samples.time('x', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(samples.spreads()).toEqual({});
  });
});

describe('a report', () => {
  const figure = (medianMs: number) => ({ runs: 1, medianMs, p95Ms: medianMs, maxMs: medianMs });
  const direct = {
    spreads: { reserve: figure(5), cloneDisk: figure(15), create: figure(20), destroy: figure(9) },
    processor: { own: 0.02, programs: 0.03, servers: 0 },
    burst: { atOnce: 50, createsPerSecond: 20, destroysPerSecond: 40 },
  };
  const saga = {
    spreads: {
      create: figure(60),
      proposeHosts: figure(1),
      reserve: figure(25),
      cloneDisk: figure(30),
      destroy: figure(20),
    },
    processor: { own: 0.1, programs: 0.03, servers: 0.07 },
  };
  const nothing: Report = {
    at: '2026-11-21T11:00:00.000Z',
    machine: { cpu: 'cpu', cores: 2, memoryMib: 1, kernel: '6', node: '20' },
    host: { kind: 'simulated', isolation: 'none' },
    direct: null,
    saga: null,
    burst: null,
    guest: null,
    snapshots: null,
    door: null,
    pools: null,
    idle: null,
    doors: null,
    failed: [],
  };

  it('compares whole creates of one run, and divides by the steps that both have', () => {
    expect(sagaCost(direct.spreads, saga.spreads)).toEqual({ wholeMs: 40, perStepMs: 20, steps: 2 });
  });

  it('shows what was measured', () => {
    const burst = { atOnce: 50, createsPerSecond: 15, destroysPerSecond: 10 };
    const idle = {
      cli: { 'mayfly --version': figure(80) },
      up: figure(2_000),
      idle: [{ sandboxes: 4, corePercent: 0.9, residentMib: 340, processes: [], create: figure(400) }],
    };
    const lines = reportLines({ ...nothing, direct, saga, burst, idle });
    const text = lines.join('\n');
    expect(text).toContain('durability costs 40 ms a create, 20 ms a step (2 steps');
    expect(lines).toContain('a create by saga uses 0.2 s of processor time (own 0.1, programs 0.03, servers 0.07)');
    expect(lines).toContain('  75 % of what the direct steps reach');
    expect(text).toContain('4 sandboxes: 0.9 % of a core, 340 MiB');
    expect(text).toContain('a create beside 4: median 400 ms');
    expect(text).not.toContain('NOT MEASURED');
  });

  it('says what a part that failed has not measured, beside what there is', () => {
    const lines = reportLines({ ...nothing, direct, failed: [{ part: '20 lives as sagas', why: 'no answer' }] });
    expect(lines.join('\n')).toContain('the same steps called directly');
    expect(lines).toContain('NOT MEASURED: 20 lives as sagas: no answer');
  });
});
