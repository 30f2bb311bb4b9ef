import { describe, expect, it } from 'vitest';
import { MayflyError } from '../../../model/errors.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { host, jsonOf, useDoor } from '../../api/support.ts';

interface AuditPage {
  items: { seq: number }[];
  nextCursor: string | null;
}

const door = useDoor();

function event(n: number): AuditEvent {
  const at = new Date(Date.UTC(2026, 0, 1) + n).toISOString();
  return { eventId: `e${n}`, kind: 'sandbox.state', actor: null, runId: null, hostId: null, at, detail: { n } };
}

async function sandbox(entries: number): Promise<string> {
  const { id } = await jsonOf<{ id: string }>(door.call('POST', '/v1/sandboxes', { source: 'golden' }));
  for (let n = 0; n < entries; n++) await door.store.audit.append(id, event(n));
  return id;
}

it('the audit is read page by page, with the head to anchor it', async () => {
  const id = await sandbox(5);
  const first = await jsonOf<AuditPage>(door.call('GET', `/v1/sandboxes/${id}/audit?limit=3`));
  expect(first).toMatchObject({ nextCursor: '3', head: { count: 5 } });
  const second = await jsonOf<AuditPage>(door.call('GET', `/v1/audit?sandboxId=${id}&limit=3&cursor=3`));
  expect(second.nextCursor).toBeNull();
  expect([...first.items, ...second.items].map((entry) => entry.seq)).toEqual([0, 1, 2, 3, 4]);
});

describe('events', () => {
  it('are streamed until the end, and resume after the last one seen', async () => {
    const id = await sandbox(3);
    const response = await door.call('GET', `/v1/sandboxes/${id}/events`);
    expect(response.headers.get('Content-Type')).toContain('text/event-stream');
    await door.store.audit.append(id, event(3));
    await door.call('DELETE', `/v1/sandboxes/${id}`);
    const text = await response.text();
    expect([...text.matchAll(/^id: (\d+)$/gm)].map((match) => match[1])).toEqual(['0', '1', '2', '3']);
    expect(text).toContain('"state":"destroyed"');
    const rest = await door.call('GET', `/v1/sandboxes/${id}/events`, undefined, { 'Last-Event-ID': '2' });
    expect([...(await rest.text()).matchAll(/^id: (\d+)$/gm)].map((match) => match[1])).toEqual(['3']);
  });

  it('have a limited number of listeners, who free their slot by disconnecting', async () => {
    const id = await sandbox(0);
    const path = `/v1/sandboxes/${id}/events`;
    const open = await Promise.all(Array.from({ length: 32 }, () => door.call('GET', path)));
    const refused = await door.call('GET', path);
    expect([refused.status, refused.headers.has('Retry-After')]).toEqual([429, true]);
    await Promise.all(open.map(async (response) => response.body?.cancel()));
    const status = async () => {
      const response = await door.call('GET', path);
      await response.body?.cancel();
      return response.status;
    };
    await expect.poll(status).toBe(200);
  });
});

describe('a host', () => {
  const call = (method: string, id: string, body?: object) => door.call(method, `/v1/hosts/${id}`, body);

  it('is drained and undrained; decommissioned only when no worker serves it, by an admin', async () => {
    await door.store.hosts.describe(host('kvm-1'));
    await door.store.hosts.describe(host('kvm-8', { lastSeenAt: '2026-01-01T00:00:00.000Z' }));
    const drained = await jsonOf<{ drainedAt: string | null }>(call('PATCH', 'kvm-1', { drained: true }));
    expect(drained.drainedAt).not.toBeNull();
    expect(await jsonOf(call('PATCH', 'kvm-1', { drained: true }))).toMatchObject(drained);
    expect(await jsonOf(call('PATCH', 'kvm-1', { drained: false }))).toMatchObject({ drainedAt: null });
    expect(await jsonOf(call('DELETE', 'kvm-1'))).toMatchObject({ status: 409, code: 'host_alive' });
    expect(await jsonOf(call('DELETE', 'kvm-7'))).toMatchObject({ status: 404 });
    expect(await jsonOf(call('DELETE', 'kvm-8'))).toMatchObject({
      id: 'kvm-8',
      live: false,
      forgottenAt: expect.any(String),
    });
  });
});

it('hosts and sources are merged over live hosts', async () => {
  const [golden] = host('kvm-2').sources;
  if (!golden) throw new Error('the host of the tests has a source');
  const broken = { ...golden, cloneable: false, problem: 'it runs' };
  await door.store.hosts.describe(host('kvm-0', { sources: [broken, { ...broken, name: 'other' }] }));
  await door.store.hosts.describe(host('kvm-9', { lastSeenAt: '2026-01-01T00:00:00.000Z' }));
  const { items } = await jsonOf<{ items: unknown[] }>(door.call('GET', '/v1/sources'));
  expect(items).toMatchObject([
    { name: 'golden', cloneable: true, problem: null, hosts: ['kvm-0', 'kvm-1'] },
    { name: 'other', cloneable: false, hosts: ['kvm-0'] },
  ]);
  const hosts = await jsonOf<{ items: { id: string; live: boolean }[] }>(door.call('GET', '/v1/hosts'));
  expect(hosts.items.map((one) => [one.id, one.live])).toEqual([
    ['kvm-0', true],
    ['kvm-1', true],
    ['kvm-9', false],
  ]);
});

describe('keys', () => {
  it('are made, listed without their secret, and revoked', async () => {
    const made = await door.call('POST', '/v1/keys', { name: 'ci', scopes: ['sandboxes:read'] });
    expect([made.status, made.headers.get('Cache-Control')]).toEqual([201, 'no-store']);
    const { id, secret } = await jsonOf<{ id: string; secret: string }>(made);
    expect((await door.call('GET', '/v1/sandboxes', undefined, {}, secret)).status).toBe(200);
    expect(await (await door.call('GET', '/v1/keys')).text()).not.toContain(secret.slice(17));
    expect((await door.call('DELETE', `/v1/keys/${id}`)).status).toBe(200);
    expect((await door.call('GET', '/v1/sandboxes', undefined, {}, secret)).status).toBe(401);
    expect((await door.call('DELETE', '/v1/keys/000000000000')).status).toBe(404);
    expect((await door.call('POST', '/v1/keys', { name: 'x', scopes: ['root'] })).status).toBe(422);
  });

  it('are made once for each Idempotency-Key; the last answer has the valid secret', async () => {
    const wish = { name: 'once', scopes: ['sandboxes:read'] };
    const ask = (body: object) => door.call('POST', '/v1/keys', body, { 'Idempotency-Key': 'key-1' });
    const [first, second] = [await ask(wish), await ask(wish)];
    const [a, b] = await Promise.all([first, second].map((one) => jsonOf<{ id: string; secret: string }>(one)));
    expect([first.status, second.status, b?.id]).toEqual([201, 201, a?.id]);
    const opens = async (secret = '') => (await door.call('GET', '/v1/sandboxes', undefined, {}, secret)).status;
    expect([await opens(a?.secret), await opens(b?.secret)]).toEqual([401, 200]);
    expect((await ask({ ...wish, name: 'other' })).status).toBe(422);
    await door.call('DELETE', `/v1/keys/${a?.id}`);
    expect((await ask(wish)).status).toBe(422);
  });
});

describe('operations', () => {
  it('report a missing dependency', async () => {
    expect((await door.app.request('/readyz')).status).toBe(200);
    door.sagas.failing = new MayflyError('temporal_unavailable', 'Temporal is away.');
    const response = await door.app.request('/readyz');
    door.sagas.failing = null;
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      status: 'not-ready',
      checks: [
        { name: 'store', ok: true },
        { name: 'temporal', ok: false, detail: 'Temporal is away.' },
        { name: 'host', ok: true },
      ],
    });
  });

  it('are counted by route, and sandboxes by state', async () => {
    await door.call('GET', '/v1/sandboxes/sbx-0000000000000000');
    await door.call('GET', '/v1/hosts');
    const text = await (await door.call('GET', '/metrics')).text();
    expect(text).toContain('mayfly_http_requests_total{method="GET",route="/v1/hosts",status="200"}');
    expect(text).toContain('mayfly_http_requests_total{method="POST",route="/v1/sandboxes",status="201"}');
    expect(text).toMatch(/mayfly_sandboxes\{state="running"\} \d/);
    expect(text).toContain('mayfly_audit_waiting_events 0');
    expect(text).not.toContain('sbx-');
  });

  it('keep a good X-Request-Id, and replace a bad one', async () => {
    const named = await door.app.request('/healthz', { headers: { 'X-Request-Id': 'abc-123' } });
    expect(named.headers.get('X-Request-Id')).toBe('abc-123');
    const hostile = await door.app.request('/healthz', { headers: { 'X-Request-Id': '<script>' } });
    expect(hostile.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

/** Last of this file: it revokes the harness's key. */
it('the last admin key cannot be revoked until there is another', async () => {
  for (const { id } of await door.store.apiKeys.list()) await door.store.apiKeys.revoke(id);
  const { key, secret } = await door.store.apiKeys.create({ project: 'default', name: 'last', scopes: ['operator'] });
  const refused = await door.call('DELETE', `/v1/keys/${key.id}`, undefined, {}, secret);
  expect([refused.status, await jsonOf(refused)]).toMatchObject([409, { code: 'last_admin_key', retryable: false }]);
  const next = await door.store.apiKeys.create({ project: 'default', name: 'next', scopes: ['operator'] });
  expect((await door.call('DELETE', `/v1/keys/${key.id}`, undefined, {}, secret)).status).toBe(200);
  expect((await door.call('GET', '/v1/keys', undefined, {}, next.secret)).status).toBe(200);
});
