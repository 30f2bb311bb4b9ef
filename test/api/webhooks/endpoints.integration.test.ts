import type { z } from '@hono/zod-openapi';
import { describe, expect, test } from 'vitest';
import type { newEndpointAnswer } from '../../../api/webhooks/endpoint-schemas.ts';
import { LIMITS } from '../../../model/limits.ts';
import { type DeliveryAttempt, type DeliveryRecord, newDelivery } from '../../../model/webhooks/delivery.ts';
import { validSecrets } from '../../../model/webhooks/endpoint.ts';
import { endedEvent, endpointId, endpointRecord } from '../../store/webhook-records.ts';
import { jsonOf, problemOf, useDoor } from '../support.ts';

// Guards: endpoints are made, listed, changed, rotated, deleted; a secret is shown once, responses only to admins.
// Seconds.
type Endpoint = z.infer<typeof newEndpointAnswer>;

const ALL = '/v1/webhook-endpoints';
const WISH = { url: 'https://example.com/mayfly', types: ['run.ended'] };
const door = useDoor();

const make = async (wish: object = {}) => jsonOf<Endpoint>(door.call('POST', ALL, { ...WISH, ...wish }));

test('an endpoint is created once for an Idempotency-Key, and its secret is only in that answer', async () => {
  const create = () => door.call('POST', ALL, WISH, { 'Idempotency-Key': 'one' });
  const [response, again] = [await create(), await create()];
  expect([response.status, again.status]).toEqual([201, 201]);
  const text = await response.text();
  expect(await again.text()).toBe(text);
  const { secret, ...endpoint } = JSON.parse(text) as Endpoint;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(endpoint).toMatchObject({ ...WISH, format: 'standard', signature: 'v1', publicKeys: [], disabledAt: null });
  expect(response.headers.get('Location')).toBe(`${ALL}/${endpoint.id}`);
  expect(await jsonOf(door.call('GET', `${ALL}/${endpoint.id}`))).toEqual(endpoint);
  const list = await jsonOf<{ items: unknown[] }>(door.call('GET', ALL));
  expect(list.items).toContainEqual(endpoint);
  expect(JSON.stringify(list)).not.toContain('whsec_');
});

test('the public key of a key pair is shown, the private key never', async () => {
  const made = await make({ signature: 'v1a' });
  expect(made.secret).toBeNull();
  expect(made.publicKeys).toEqual([expect.stringMatching(/^whpk_/)]);
  expect(JSON.stringify(made)).not.toContain('whsk_');
  expect((await door.store.webhookEndpoints.get(made.id))?.secrets[0]?.key).toMatch(/^whsk_/);
});

test('after a rotation both secrets sign for 24 hours, also after several concurrent ones', async () => {
  const { id, secret } = await make();
  const rotated = await jsonOf<Endpoint>(door.call('POST', `${ALL}/${id}/rotate`));
  expect(rotated.secret).toMatch(/^whsec_/);
  expect(rotated.secret).not.toBe(secret);
  const record = await door.store.webhookEndpoints.get(id);
  if (!record) throw new Error('there is one');
  const keys = (inHours: number) => validSecrets(record, Date.now() + inHours * 3_600_000).map(({ key }) => key);
  expect([keys(0), keys(23.9), keys(24.1)]).toEqual([
    [rotated.secret, secret],
    [rotated.secret, secret],
    [rotated.secret],
  ]);
  const several = await Promise.all(
    Array.from({ length: 5 }, () => jsonOf<Endpoint>(door.call('POST', `${ALL}/${id}/rotate`))),
  );
  const now = await door.store.webhookEndpoints.get(id);
  expect(now?.secrets.length).toBe(LIMITS.webhooks.secrets);
  expect(now?.secrets.filter(({ until }) => until === null)).toHaveLength(1);
  expect(several.map((each) => each.secret)).toContain(now?.secrets[0]?.key);
});

describe('an invalid endpoint is refused by the name of the field', () => {
  test.each([
    ['credentials', { url: 'https://user:pw@example.com/' }, 'url'],
    ['another scheme', { url: 'ftp://example.com/' }, 'url'],
    ['a zone', { url: 'http://[fe80::1%25eth0]/' }, 'url'],
    ['a port of another protocol', { url: 'http://example.com:25/' }, 'url'],
    ['an unknown type', { types: ['run.ended', 'run.started'] }, 'types.1'],
    ['no type', { types: [] }, 'types'],
    ['an unknown format', { format: 'xml' }, 'format'],
    ['an unknown signature', { signature: 'v2' }, 'signature'],
    ['an unknown field', { secret: 'mine' }, 'secret'],
  ])('%s', async (_title, wish, field) => {
    const response = await door.call('POST', ALL, { ...WISH, ...wish });
    expect(response.status).toBe(422);
    expect((await problemOf(response)).errors?.map((each) => each.field)).toContain(field);
  });

  test('an unknown destination', async () => {
    const destinations = { onFailure: endpointId(999) };
    const response = await door.call('PUT', '/v1/functions/told', { source: 'golden', command: 'true', destinations });
    expect([response.status, (await problemOf(response)).errors?.[0]?.field]).toEqual([422, 'destinations.onFailure']);
  });
});

test('a disabled endpoint is enabled on request, with its failure state reset', async () => {
  const { id } = await make();
  await door.store.webhookEndpoints.change(id, { failingSince: '2026-01-01T00:00:00.000Z', slowed: 3 });
  await door.store.webhookEndpoints.disable(id, 'failures', '2026-01-06T00:00:00.000Z');
  const shown = await jsonOf<Endpoint>(door.call('GET', `${ALL}/${id}`));
  expect(shown).toMatchObject({ disabledFor: 'failures', disabledAt: '2026-01-06T00:00:00.000Z' });
  const since = '2026-01-01T00:00:00Z';
  expect((await door.call('POST', `${ALL}/${id}/recover`, { since })).status).toBe(409);
  const changed = await jsonOf<Endpoint>(
    door.call('PATCH', `${ALL}/${id}`, { disabled: false, types: ['run.cleaned'], url: 'https://example.org/' }),
  );
  expect(changed).toMatchObject({
    disabledAt: null,
    disabledFor: null,
    failingSince: null,
    types: ['run.cleaned'],
    url: 'https://example.org/',
  });
  expect(await jsonOf(door.call('PATCH', `${ALL}/${id}`, { disabled: true }))).toMatchObject({
    disabledFor: 'request',
  });
  expect((await door.call('PATCH', `${ALL}/${id}`, {})).status).toBe(422);
});

test('deliveries are listed, with responses for admins alone, and deleted with their endpoint', async () => {
  const { id } = await make();
  const endpoint = endpointRecord({ id });
  const attempt: DeliveryAttempt = {
    n: 1,
    at: '2026-01-01T00:00:00.000Z',
    outcome: 'failed',
    latencyMs: 12,
    status: 500,
    reason: 'it answered with 500',
    answer: 'what-came-back',
    nextAt: null,
  };
  const lost: Pick<DeliveryRecord, 'state' | 'failure' | 'dueAt' | 'attempts'> = {
    state: 'failed',
    failure: 'attempts-used-up',
    dueAt: null,
    attempts: [attempt],
  };
  const deliveries = [1, 2].map((n) => ({
    ...newDelivery(endedEvent(n), endpoint, `2026-01-0${n}T00:00:00.000Z`),
    ...lost,
  }));
  for (const one of deliveries) await door.store.webhookDeliveries.create(one, '');
  const path = `${ALL}/${id}/deliveries`;
  const page = await jsonOf<{ items: { id: string }[]; nextCursor: string }>(door.call('GET', `${path}?limit=1`));
  expect(page.items).toMatchObject([
    { id: deliveries[1]?.id, state: 'failed', attempts: [{ answer: 'what-came-back' }] },
  ]);
  const next = await jsonOf<{ items: { id: string }[] }>(door.call('GET', `${path}?limit=1&cursor=${page.nextCursor}`));
  expect(next.items.map((each) => each.id)).toEqual([deliveries[0]?.id]);
  const reader = await door.key.in('default', 'sandboxes:read');
  const text = await (await door.call('GET', path, undefined, {}, reader)).text();
  expect(text).toContain('it answered with 500');
  expect(text).not.toContain('what-came-back');
  const again = await door.call('POST', `${path}/${deliveries[0]?.id}/redeliver`);
  expect([again.status, await again.json()]).toMatchObject([202, { state: 'pending', attempts: [{ n: 1 }] }]);
  const recovered = await door.call('POST', `${ALL}/${id}/recover`, { since: '2026-01-02T00:00:00Z' });
  expect([recovered.status, await recovered.json()]).toEqual([202, { count: 1 }]);
  const due = await door.store.webhookDeliveries.toWake(new Date().toISOString(), 10);
  expect(due.map((each) => each.id).toSorted()).toEqual(deliveries.map((each) => each.id).toSorted());
  expect((await door.call('DELETE', `${ALL}/${id}`)).status).toBe(204);
  expect((await door.call('GET', path)).status).toBe(404);
  for (const one of deliveries) expect(await door.store.webhookDeliveries.get(one.id)).toBeNull();
});

test('a project has at most fifty endpoints', async () => {
  await door.store.projects.create('full', {});
  const key = await door.key.in('full', 'admin');
  const create = () => door.call('POST', ALL, WISH, {}, key);
  const first = await Promise.all(Array.from({ length: LIMITS.webhooks.endpoints }, create));
  expect(new Set(first.map(({ status }) => status))).toEqual(new Set([201]));
  const response = await create();
  expect([response.status, (await problemOf(response)).code]).toEqual([409, 'endpoints_full']);
});
