import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { PeriodicTaskState } from '../../store/periodic-tasks.ts';
import { Closers } from '../../worker/config/closers.ts';
import { judgeTasks } from '../../worker/doctor/periodic-tasks.ts';
import { startPeriodicTasks } from '../../worker/upkeep/periodic-tasks.ts';

// Guards: each periodic task is recorded by name as healthy or failing. Costs nothing.
test('a task is reported when it starts to fail, and when it recovers', async () => {
  const reported: PeriodicTaskState[] = [];
  const closers = new Closers();
  let turns = 0;
  await new Promise<void>((resolve) => {
    const report = async (state: PeriodicTaskState) => {
      reported.push(state);
      if (reported.length === 3) resolve();
    };
    const run = async () => {
      if (++turns === 3 || turns === 4) throw new Error('no answer');
    };
    startPeriodicTasks([{ name: 'pruning', everyMs: 1, run }], { report }, closers, pino({ level: 'silent' }));
  });
  await closers.close();
  expect(turns).toBeGreaterThanOrEqual(5);
  expect(reported.map(({ name, everyMs, failure }) => [name, everyMs, failure])).toEqual([
    ['pruning', 1, ''],
    ['pruning', 1, 'no answer'],
    ['pruning', 1, ''],
  ]);
});

test('doctor names failing tasks, and overdue ones', () => {
  const now = Date.parse('2026-11-28T12:00:00.000Z');
  const fresh = { name: 'pruning', everyMs: 3_600_000, endedAt: '2026-11-28T10:00:00.000Z', failure: '' };
  expect(judgeTasks([fresh], now)).toEqual([expect.objectContaining({ name: 'periodic tasks', ok: true })]);
  const late = { name: 'receipts', everyMs: 1_000, endedAt: '2026-11-28T11:54:00.000Z', failure: '' };
  const ill = { name: 'webhooks', everyMs: 1_000, endedAt: '2026-11-28T11:59:59.000Z', failure: 'no answer' };
  expect(judgeTasks([fresh, late, ill], now)).toMatchObject([
    { name: 'task receipts', ok: false, optional: true, found: expect.stringContaining('11:54') },
    { name: 'task webhooks', ok: false, optional: false, found: expect.stringContaining('no answer') },
  ]);
});
