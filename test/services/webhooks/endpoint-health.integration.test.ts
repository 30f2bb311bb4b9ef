import { expect, it } from 'vitest';
import { EndpointHealth } from '../../../activities/webhook/endpoint-health.ts';
import { newDelivery } from '../../../model/webhooks/delivery.ts';
import { ATTEMPTS, DeliveryRetryPolicy } from '../../../model/webhooks/delivery-plan.ts';
import type { EndpointRecord } from '../../../model/webhooks/endpoint.ts';
import type { PostOutcome } from '../../../services/webhooks/sending/post.ts';
import type { Store } from '../../../store/connect.ts';
import { endedEvent, endpointId, endpointRecord } from '../../store/webhook-records.ts';
import { useStore } from '../../support/use-store.ts';

// Guards: the effect of an attempt on its endpoint, and the time of the next. A second.
let store: Store;
useStore((opened) => ({ store } = opened));

const HOUR = 3_600_000;
const ago = (hours: number) => new Date(Date.now() - hours * HOUR).toISOString();
const outcome = (status: number | null, more: Partial<PostOutcome> = {}): PostOutcome => {
  const isTaken = status === 204;
  return {
    isTaken,
    status,
    reason: isTaken ? null : 'no',
    isTimeout: false,
    retryAfterMs: null,
    answer: Buffer.of(),
    ...more,
  };
};

let count = 0;
async function after(
  endpoint: Partial<EndpointRecord>,
  seen: PostOutcome,
  { askedAt = ago(0), isLast = false, at = ago(0) } = {},
): Promise<EndpointRecord> {
  const record = endpointRecord({ id: endpointId(++count), ...endpoint });
  await store.webhookEndpoints.create(record);
  const delivery = { ...newDelivery(endedEvent(count), record, askedAt) };
  const health = new EndpointHealth(store, new DeliveryRetryPolicy(), { ofDisabling: async () => {} });
  await health.after(record, delivery, seen, { at, isLast });
  return (await store.webhookEndpoints.get(record.id)) ?? record;
}

it.each([
  [119, null],
  [121, 'failures'],
] as const)('failures for %i hours leave the endpoint %s', async (hours, disabledFor) => {
  expect(await after({ failingSince: ago(hours) }, outcome(500))).toMatchObject({ disabledFor });
});

it('the last attempt of an event disables the endpoint when no delivery has succeeded since the first', async () => {
  const last = { askedAt: ago(76), at: ago(76), isLast: true };
  expect(await after({ failingSince: ago(77) }, outcome(500), last)).toMatchObject({ disabledFor: 'failures' });
  expect(await after({ failingSince: ago(70) }, outcome(500), last)).toMatchObject({ disabledFor: null });
});

it('410 disables the endpoint at once, and a success resets its failures', async () => {
  expect(await after({}, outcome(410))).toMatchObject({ disabledFor: 'gone' });
  const bad = { failingSince: ago(1), slowUntil: ago(0), slowed: 4 };
  expect(await after(bad, outcome(204))).toMatchObject({ failingSince: null, slowUntil: null, slowed: 0 });
});

it.each([
  [outcome(429, { retryAfterMs: 2 * HOUR }), 2 * HOUR],
  [outcome(429, { retryAfterMs: 100 * HOUR }), 24 * HOUR],
  [outcome(502), 5_000],
  [outcome(504), 5_000],
  [outcome(null, { isTimeout: true }), 5_000],
  [outcome(500), null],
  [outcome(503, { retryAfterMs: HOUR }), null],
])('%o slows the endpoint down', async (seen, ms) => {
  const { slowUntil, slowed } = await after({}, seen);
  expect(slowed).toBe(ms === null ? 0 : 1);
  if (ms === null) return expect(slowUntil).toBeNull();
  const left = Date.parse(slowUntil ?? '') - Date.now();
  expect(left).toBeLessThanOrEqual(ms);
  expect(left).toBeGreaterThan(ms - 60_000);
});

it('ten attempts take 75 h 35 min 5 s ± 10 %, and Retry-After is honoured up to a day', () => {
  const plan = new DeliveryRetryPolicy();
  const whole = (chance: number) =>
    Array.from({ length: ATTEMPTS }, (_each, n) => plan.pauseMs(n, null, chance) ?? 0).reduce((a, b) => a + b, 0);
  const hours = 75 + 35 / 60 + 5 / 3_600;
  expect([whole(0), whole(0.5), whole(1)].map((ms) => ms / HOUR)).toEqual([
    expect.closeTo(hours * 0.9, 6),
    expect.closeTo(hours, 6),
    expect.closeTo(hours * 1.1, 6),
  ]);
  expect(plan.pauseMs(ATTEMPTS, null)).toBeNull();
  expect(plan.pauseMs(1, 7 * HOUR)).toBe(7 * HOUR);
  expect(plan.pauseMs(1, 48 * HOUR)).toBe(24 * HOUR);
  expect(plan.pauseMs(9, 1_000, 0.5)).toBe(24 * HOUR);
  expect(plan.slowMs(20, null)).toBe(300_000);
});
