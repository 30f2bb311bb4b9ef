import { randomBytes } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { meantTime } from '../../model/schedules/clock-changes.ts';
import { type Times, timesBetween } from '../../model/schedules/times.ts';
import { transitionsBetween } from '../../model/schedules/zone.ts';
import { temporalTimes } from '../../sagas/temporal/calendars.ts';
import { temporalClient } from '../../worker/payloads/data-converter.ts';
import { connectTemporal } from '../../worker/servers/temporal.ts';

/**
 * The times that we say a schedule has are those at which Temporal fires. Around changes of clocks it may fire at a few others:
 * they are none of ours, and have no run.
 */
let connection: NativeConnection;
let client: Client;
beforeAll(async () => {
  connection = await connectTemporal(inject('temporalAddress'));
  client = temporalClient({ connection, namespace: 'default', dataConverter: {} }); // it says nothing but times
});
afterAll(() => connection.close());

/** Of a day, a list or steps of one field. */
const field = (min: number, max: number) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    fc.integer({ min, max }).map(String),
    fc.uniqueArray(fc.integer({ min, max }), { minLength: 2, maxLength: 4 }).map((values) => values.join(',')),
    fc
      .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
      .map((ends) => ends.toSorted((a, b) => a - b).join('-')),
    fc.integer({ min: 2, max: max - min }).map((step) => `*/${step}`),
  );
const cron = fc
  .tuple(field(0, 59), field(0, 4), field(1, 28), field(1, 12), field(0, 6))
  .map((fields) => fields.join(' '));
/** With gaps and repeats of an hour, at night, at midnight, and in the south; and none. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'America/Santiago',
  'Africa/Cairo',
  'Asia/Kolkata',
  'Africa/Casablanca',
  'UTC',
];
const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
/** As many as Temporal tells at once. */
const MOST = 1_000;

async function temporalsTimes(times: Times, from: number, to: number): Promise<number[]> {
  const scheduleId = `times-${randomBytes(6).toString('hex')}`;
  const handle = await client.schedule.create({
    scheduleId,
    spec: temporalTimes(times, from),
    action: { type: 'startWorkflow', workflowType: 'none', taskQueue: 'none' },
    state: { paused: true },
  });
  try {
    const { startTime } = await connection.workflowService.listScheduleMatchingTimes({
      namespace: 'default',
      scheduleId,
      startTime: msToTs(from),
      endTime: msToTs(to),
    });
    return (startTime ?? []).map((time) => tsToMs(time));
  } finally {
    await handle.delete();
  }
}

it('for any expression, in zones of all kinds, around their changes', async () => {
  const dst = fc.record({
    gap: fc.constantFrom('skip' as const, 'run-after' as const),
    repeat: fc.constantFrom('first' as const, 'both' as const),
  });
  const start = fc.record({
    zone: fc.constantFrom(...ZONES),
    nth: fc.nat(),
    daysBefore: fc.integer({ min: 0, max: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(cron, dst, start, async (text, policy, { zone, nth, daysBefore }) => {
      const changes = transitionsBetween(zone, Date.UTC(2026, 0, 1), Date.UTC(2029, 0, 1));
      const from =
        (changes[nth % (changes.length || 1)]?.at ?? Date.UTC(2027, 5, 1)) - daysBefore * DAY_MS - 12 * 3_600_000;
      const times: Times = { cron: text, every: null, timeZone: zone, startAt: null, endAt: null, dst: policy };
      const to = from + 60 * DAY_MS;
      const theirs = (await temporalsTimes(times, from, to)).map((at) => meantTime(times, at));
      const ours = [...timesBetween(times, from, to)].filter(({ isRun }) => isRun).map(({ at }) => at);
      const end = theirs.length === MOST ? (theirs.at(-1) ?? 0) : to;
      expect(theirs, `${text} in ${zone}`).toEqual(expect.arrayContaining(ours.filter((at) => at <= end)));
      const surplus = theirs.filter((at) => !ours.includes(at));
      const nearChanges = surplus.filter((at) => changes.some((change) => Math.abs(change.at - at) < 30 * HOUR_MS));
      expect(surplus, `${text} in ${zone}`).toEqual(nearChanges);
    }),
    { numRuns: Number(process.env['MAYFLY_TEST_RUNS'] ?? 10) },
  );
});
