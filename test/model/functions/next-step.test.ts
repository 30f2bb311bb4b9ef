import { describe, expect, it } from 'vitest';
import { decideNextStep, EX_TEMPFAIL } from '../../../model/functions/next-step.ts';
import type { Attempt, RunRecord } from '../../../model/functions/run.ts';
import type { RunFailure } from '../../../model/functions/run-state.ts';
import { functionVersion, runRecord } from '../../store/run-records.ts';

const NOW = Date.parse('2026-01-01T00:00:00.000Z');
const plain = functionVersion().spec;
const idempotent = (more: Partial<typeof plain.retry> = {}) =>
  functionVersion({ idempotent: true, retry: { ...plain.retry, maxAttempts: 3, ...more } }).spec;

const attempt = (changes: Partial<Attempt>): Attempt => ({
  n: 1,
  sandboxId: 'sbx-0123456789abcdef',
  commandId: 'cmd-0123456789abcdef',
  begunAt: '2026-01-01T00:00:00.000Z',
  startedAt: null,
  endedAt: null,
  outcome: 'failed',
  exitCode: null,
  signal: null,
  failure: null,
  cleanup: 'proved',
  secrets: [],
  ...changes,
});

const endedBy = (changes: Partial<Attempt>, more: Partial<RunRecord> = {}) =>
  runRecord(1, { attempts: [attempt(changes)], tries: 1, ...more });
const notStarted = (code: RunFailure['code'], more: Partial<RunRecord> = {}) =>
  endedBy({ outcome: 'not-started', failure: { code, message: '' } }, more);

describe('a started attempt', () => {
  it.each(['failed', 'timed-out', 'unknown', 'succeeded', 'cancelled'] as const)(
    'is never restarted unless the function is idempotent: %s',
    (outcome) => {
      const careless = functionVersion({ retry: { ...plain.retry, maxAttempts: 9 } }).spec;
      expect(decideNextStep(endedBy({ outcome, exitCode: EX_TEMPFAIL }), careless, NOW)).toEqual({ step: 'end' });
    },
  );

  it('is retried up to the limit', () => {
    const tried = (n: number) => runRecord(1, { attempts: Array.from({ length: n }, (_, i) => attempt({ n: i + 1 })) });
    expect([1, 2, 3].map((n) => decideNextStep(tried(n), idempotent(), NOW).step)).toEqual(['retry', 'retry', 'end']);
  });

  it('is retried only for listed outcomes and exit codes, and on EX_TEMPFAIL', () => {
    const some = idempotent({ on: ['failed'], exitCodes: [7] });
    const stepAfter = (changes: Partial<Attempt>) => decideNextStep(endedBy(changes), some, NOW).step;
    expect(stepAfter({ exitCode: 7 })).toBe('retry');
    expect(stepAfter({ exitCode: 8 })).toBe('end');
    expect(stepAfter({ signal: 'SIGKILL' })).toBe('end');
    expect(stepAfter({ outcome: 'timed-out' })).toBe('end');
    expect(stepAfter({ exitCode: EX_TEMPFAIL })).toBe('retry');
    expect(decideNextStep(endedBy({ outcome: 'succeeded' }), idempotent(), NOW)).toEqual({ step: 'end' });
  });

  it('backs off up to the maximum, deterministically', () => {
    const pause = (n: number, jitter: boolean) => {
      const attempts = Array.from({ length: n }, (_, i) => attempt({ n: i + 1 }));
      const backoff = { initialSeconds: 1, factor: 3, maxSeconds: 5, jitter };
      const next = decideNextStep(runRecord(1, { attempts }), idempotent({ maxAttempts: 9, backoff }), NOW);
      return next.step === 'end' ? null : next.pauseMs;
    };
    expect([1, 2, 3, 4].map((n) => pause(n, false))).toEqual([1_000, 3_000, 5_000, 5_000]);
    expect(pause(2, true)).toBe(pause(2, true));
    expect(pause(2, true)).toBeGreaterThanOrEqual(1_500);
    expect(pause(2, true)).toBeLessThanOrEqual(3_000);
  });

  it('is not retried after a cancel', () => {
    const cancelledBy = { apiKeyId: 'k', agentId: null, project: 'default' };
    expect(decideNextStep(endedBy({}, { cancelledBy }), idempotent(), NOW)).toEqual({ step: 'end' });
    expect(decideNextStep(notStarted('boot_failed', { cancelledBy }), plain, NOW)).toEqual({ step: 'end' });
  });
});

describe('an attempt that never started', () => {
  it.each(['capacity_exhausted', 'no_host', 'host_disk_full', 'project_quota_exceeded', 'host_unavailable'] as const)(
    'is requeued without limit for lack of room: %s',
    (code) => {
      const pauses = [1, 3, 100].map((tries) =>
        decideNextStep(notStarted(code, { tries, failedStarts: 4 }), plain, NOW),
      );
      expect(pauses).toEqual([1_000, 4_000, 30_000].map((pauseMs) => ({ step: 'requeue', pauseMs })));
    },
  );

  it.each(['source_not_found', 'function_gone', 'program_not_found', 'exceeds_hosts'] as const)(
    'ends the run when it can never start: %s',
    (code) => expect(decideNextStep(notStarted(code), plain, NOW)).toEqual({ step: 'end' }),
  );

  it('is started up to five times otherwise', () => {
    const steps = [1, 2, 3, 4, 5].map(
      (n) => decideNextStep(notStarted('boot_failed', { failedStarts: n }), plain, NOW).step,
    );
    expect(steps).toEqual(['retry', 'retry', 'retry', 'retry', 'end']);
  });

  it('is not started after it has expired', () => {
    const expiresAt = '2025-12-31T23:59:59.000Z';
    expect(decideNextStep(notStarted('no_host', { expiresAt }), plain, NOW)).toEqual({ step: 'end' });
  });
});
