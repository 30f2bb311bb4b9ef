import { createServer as createRawServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect } from 'vitest';
import { WebhookPublisher } from '../../../activities/webhook/announcer.ts';
import { DeliveryRetryPolicy } from '../../../model/webhooks/delivery-plan.ts';
import { AddressPolicy } from '../../../services/webhooks/sending/address-policy.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { endedEvent } from '../../store/webhook-records.ts';
import { TestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import {
  type Answering,
  answers,
  answersEndlessly,
  drips,
  endsEarly,
  WebhookReceiver,
} from '../../support/webhook-receiver.ts';
import { type Delivery, type Endpoint, lookAtWebhooks, TestWebhooks } from '../../support/webhooks.ts';

/** A receiver that fails in twenty ways, with time 20,000 times as fast. */
const { alone, mayfly: all } = useSagaCases();
const PACE = 1 / 20_000;
const HOUR = 3_600_000 * PACE;
/** Pauses of docs/events.md, hours. */
const PAUSES = [5 / 3_600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24];
/** Time of a busy machine between a response and the plan of the next attempt. */
const SLOP_MS = 150;
const DAMAGED = 'attempts-used-up';

/**
 * Plan that never gives up: a busy machine would reach the five days that
 * test/webhooks/endpoint-health.integration.test.ts covers.
 */
class ClinicPlan extends DeliveryRetryPolicy {
  override isGivenUp(): boolean {
    return false;
  }
}

let door: TestDoor;
let webhooks: TestWebhooks;
let receiver: WebhookReceiver;
let announcer: WebhookPublisher;
beforeAll(async () => {
  const mayfly = all();
  const network = { policy: new AddressPolicy(['127.0.0.0/8']), timeoutMs: 4_000 };
  mayfly.webhooks = { plan: new ClinicPlan(PACE), network };
  await mayfly.startControl();
  door = await TestDoor.open(mayfly);
  webhooks = new TestWebhooks(door);
  receiver = await WebhookReceiver.open();
  announcer = new WebhookPublisher(mayfly.store, new ControlTemporalClient(mayfly.client));
});
afterAll(() => {
  receiver.close();
  door.close();
});

/** Fails `times` times, and then succeeds. */
const first = (times: number, failing: Answering): Answering => {
  return (response, n, request) => (n <= times ? failing : answers(204))(response, n, request);
};
const httpDate = (inMs: number) => new Date(Date.now() + inMs).toUTCString();
const silent: Answering = () => {};

interface Way {
  answering: Answering;
  attempts: number;
  failure: Delivery['failure'];
  reason: RegExp;
  /** Least pause before the second attempt, hours. */
  pause?: number;
}
const once = (answering: Answering, reason: RegExp, more: Partial<Way> = {}): Way => {
  return { answering: first(1, answering), attempts: 2, failure: null, reason, ...more };
};
const always = (answering: Answering, reason: RegExp): Way => {
  return { answering, attempts: 10, failure: DAMAGED, reason };
};
const WAYS: Record<string, Way> = {
  'a failure for ever': always(answers(500), /^it answered with 500$/),
  'a redirect for ever': always(answers(302, { Location: 'http://169.254.169.254/' }), /redirects are not followed$/),
  gone: { answering: answers(410), attempts: 1, failure: 'endpoint-gone', reason: /410/ },
  'back after 51 hours': { answering: first(9, answers(503)), attempts: 10, failure: null, reason: /503/ },
  'not found twice': { answering: first(2, answers(404)), attempts: 3, failure: null, reason: /404/ },
  'too many requests': once(answers(429, { 'Retry-After': '3600' }), /429/, { pause: 1 }),
  'unavailable until a date': once((...of) => answers(503, { 'Retry-After': httpDate(7_200_000) })(...of), /503/, {
    pause: 1.9,
  }),
  'unavailable for ten days': once(answers(503, { 'Retry-After': '864000' }), /503/, { pause: 24 }),
  'a bad gateway': once(answers(502), /502/),
  'a slow gateway': once(answers(504), /504/),
  unauthorized: once(answers(401, {}, 'no'), /401/),
  'not modified': once(answers(304), /304/),
  silence: once(silent, /^it took longer than 4 s$/),
  dripping: once(drips, /^it took longer than 4 s$/),
  'a gigabyte': once(answersEndlessly, /more than 65536 bytes$/),
  'an early end': once(endsEarly, /before its answer was whole$/),
  'a closed connection': once((response) => void response.destroy(), /hang up|ECONNRESET/),
  'a head that is too large': once(answers(200, { 'x-large': 'x'.repeat(20_000) }), /overflow/i),
  'an echo of the secret': once((response, _n, request) => {
    response.writeHead(400).end(`password=${String(request.headers['x-secret'] ?? 'hunter2-hunter2')}`);
  }, /400/),
};

alone('each of twenty ways to fail comes to what is said of it, under one id, at its times', async () => {
  const raw = createRawServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end('garbage\r\n\r\n'),
  );
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
  const address = raw.address();
  const rawPort = address !== null && typeof address === 'object' ? address.port : 0;
  const elsewhere: Record<string, { url: string; reason: RegExp }> = {
    'no TLS': { url: `https://127.0.0.1:${receiver.port}/no-tls`, reason: /./ },
    'no HTTP': { url: `http://127.0.0.1:${rawPort}/`, reason: /./ },
    'a private address': { url: 'http://10.1.2.3/', reason: /^nothing was sent: 10\.1\.2\.3 is private/ },
  };
  const endpoints = new Map<string, Endpoint>();
  for (const [name, way] of Object.entries(WAYS)) {
    const path = `/${name.replaceAll(' ', '-')}`;
    endpoints.set(name, await webhooks.create(receiver.at(path, way.answering)));
  }
  for (const [name, { url }] of Object.entries(elsewhere)) endpoints.set(name, await webhooks.create(url));
  const observer = await webhooks.create(receiver.at('/observer'), { types: ['endpoint.disabled'] });

  await announcer.tell(endedEvent(1));
  for (const [name, endpoint] of endpoints) {
    const delivery = await webhooks.delivery(endpoint, ({ state }) => state !== 'pending');
    const way: Omit<Way, 'answering'> = WAYS[name] ?? {
      attempts: 10,
      failure: DAMAGED,
      reason: elsewhere[name]?.reason ?? /^never/,
    };
    const seen = { name, state: delivery.state, failure: delivery.failure, attempts: delivery.attempts.length };
    const state = way.failure === null ? 'delivered' : 'failed';
    expect(seen).toEqual({ name, state, failure: way.failure, attempts: way.attempts });
    refuseOtherTimes(name, delivery, way.pause);
    expect(delivery.attempts[0]?.reason, name).toMatch(way.reason);
    const disabledFor = way.failure === null ? null : way.failure === 'endpoint-gone' ? 'gone' : 'failures';
    expect({ name, disabledFor: (await webhooks.get(endpoint)).disabledFor }).toEqual({ name, disabledFor });
    const received = receiver.to(`/${name.replaceAll(' ', '-')}`);
    if (WAYS[name]) expect([name, received.length]).toEqual([name, way.attempts]);
    for (const { headers, body } of received) {
      expect(headers['webhook-id']).toBe(delivery.id);
      expect(body).toBe(received[0]?.body);
      new Webhook(endpoint.secret ?? '').verify(body, headers);
    }
  }
  raw.close();
  const disabled = [...endpoints].filter(([name]) => !isTaken(name));
  await receiver.until('/observer', disabled.length);
  const told = receiver
    .to('/observer')
    .map(({ body }) => (JSON.parse(body) as { data: { endpointId: string } }).data.endpointId);
  expect(told.toSorted()).toEqual(disabled.map(([, { id }]) => id).toSorted());
  expect((await webhooks.get(observer)).disabledAt).toBeNull();

  const echo = endpoints.get('an echo of the secret');
  const [echoed] = echo ? await webhooks.deliveries(echo) : [];
  expect(echoed?.attempts[0]?.answer).toBe('password=[redacted]');

  const down = endpoints.get('a failure for ever');
  if (!down) throw new Error('there is one');
  receiver.at('/a-failure-for-ever');
  await webhooks.change(down, { disabled: false });
  expect(await (await webhooks.recover(down, '2020-01-01T00:00:00Z')).json()).toEqual({ count: 1 });
  await lookAtWebhooks(all());
  const recovered = await webhooks.delivery(down, ({ state }) => state === 'delivered');
  expect(recovered.attempts.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect((await webhooks.redeliver(recovered)).status).toBe(202);
  await lookAtWebhooks(all());
  const again = await receiver.until('/a-failure-for-ever', 12);
  expect(new Set(again.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([recovered.id]));
});

function isTaken(name: string): boolean {
  return WAYS[name] !== undefined && WAYS[name].failure === null;
}

/** Asserts the times of the attempts. @param least pause before the second attempt, hours */
function refuseOtherTimes(name: string, { attempts }: Delivery, least = 0): void {
  attempts.forEach(({ at, latencyMs, nextAt }, n) => {
    const next = attempts[n + 1];
    expect([name, n, nextAt === null]).toEqual([name, n, next === undefined]);
    if (!next || nextAt === null) return;
    const ended = Date.parse(at) + (latencyMs ?? 0);
    const planned = Math.max(PAUSES[n] ?? 0, n === 0 ? least : 0) * HOUR;
    const pause = Date.parse(nextAt) - ended;
    const isLeast = n === 0 && least > 0;
    expect(pause, `${name} ${n}`).toBeGreaterThanOrEqual(Math.floor(planned * (isLeast ? 1 : 0.9)) - 1);
    expect(pause, `${name} ${n}`).toBeLessThanOrEqual(planned * 1.1 + SLOP_MS);
    expect(Date.parse(next.at), `${name} ${n}`).toBeGreaterThanOrEqual(Date.parse(nextAt) - 1);
  });
}

alone('one that hangs delays no other, and has a few requests at once', async () => {
  for (const { id } of await all().store.webhookEndpoints.list('default'))
    await webhooks.change({ id }, { disabled: true });
  await webhooks.create(receiver.at('/hangs', silent));
  await webhooks.create(receiver.at('/quick'));
  const events = Array.from({ length: 30 }, (_each, n) => endedEvent(100 + n));
  await Promise.all(events.map((event) => announcer.tell(event)));
  const quick = await eventually(
    async () => receiver.to('/quick'),
    (found) => found.length >= events.length,
  );
  expect(new Set(quick.map(({ headers }) => headers['webhook-id'])).size).toBe(events.length);
  expect(receiver.to('/hangs').length).toBeLessThan(events.length);
});
