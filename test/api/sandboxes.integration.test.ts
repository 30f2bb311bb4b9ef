import { beforeEach, describe, expect, it } from 'vitest';
import type { SandboxView } from '../../api/resources/sandbox-schemas.ts';
import { MayflyError } from '../../model/errors.ts';
import { host, jsonOf, problemOf, useDoor } from './support.ts';

interface Page {
  items: SandboxView[];
  nextCursor: string | null;
}

const door = useDoor();

beforeEach(async () => {
  door.sagas.outcome = 'running';
  door.sagas.failing = null;
  door.sagas.started = [];
  await door.store.hosts.describe(host('kvm-1'));
});

const create = (headers: Record<string, string> = {}, body: object = {}) =>
  door.call('POST', '/v1/sandboxes', { source: 'golden', ...body }, headers);
const viewOf = async (response: Response) => (await response.json()) as SandboxView;

describe('creating', () => {
  it('answers 201 with the running sandbox and its defaults', async () => {
    const response = await create({}, { metadata: { 'a.b/c': 'ü' }, agentId: 'agent-7', cpus: 2 });
    expect(response.status).toBe(201);
    const view = await viewOf(response);
    expect(response.headers.get('Location')).toBe(`/v1/sandboxes/${view.id}`);
    expect(response.headers.has('Preference-Applied')).toBe(false);
    expect(view).toMatchObject({ state: 'running', createdBy: { agentId: 'agent-7' } });
    expect(view.spec).toEqual({
      source: 'golden',
      snapshotId: null,
      cpus: 2,
      memoryMib: 64,
      ttlSeconds: 3_600,
      idleSeconds: null,
      onIdle: 'destroy',
      autoResume: false,
      captureId: null,
      metadata: { 'a.b/c': 'ü' },
      agentId: 'agent-7',
      network: { egress: 'none' },
      boot: 'auto',
    });
    expect(await viewOf(await door.call('GET', `/v1/sandboxes/${view.id}`))).toEqual(view);
  });

  it.each(['wait=0', 'respond-async', 'wait=1'])('answers 202 when %s ends first', async (prefer) => {
    door.sagas.outcome = 'never';
    const response = await create({ Prefer: prefer });
    expect(response.status).toBe(202);
    expect(response.headers.get('Preference-Applied')).toBe(prefer);
    expect(response.headers.get('Location')).toBe(`/v1/sandboxes/${(await viewOf(response)).id}`);
  });

  it('answers with the error code of a failed saga, and the sandbox id', async () => {
    door.sagas.outcome = 'failed';
    const response = await create();
    expect(response.status).toBe(504);
    const [sandboxId] = door.sagas.started;
    expect(await problemOf(response)).toMatchObject({
      code: 'ip_timeout',
      sandboxId,
      detail: expect.stringMatching(/awaitIp/),
    });
  });

  it('accepts as much memory as the largest host has in total', async () => {
    expect((await create({}, { memoryMib: 8_192 })).status).toBe(201);
    expect(await problemOf(await create({}, { memoryMib: 8_193 }))).toMatchObject({ code: 'exceeds_hosts' });
  });

  it('refuses when no host is live', async () => {
    await door.store.hosts.describe(host('kvm-1', { lastSeenAt: '2026-01-01T00:00:00.000Z' }));
    const response = await create({ 'Idempotency-Key': 'no-host' });
    expect(await problemOf(response)).toMatchObject({ code: 'no_host' });
    await door.store.hosts.describe(host('kvm-1'));
    expect((await create({ 'Idempotency-Key': 'no-host' })).status).toBe(201);
  });
});

describe('an Idempotency-Key', () => {
  it('returns the same answer again, for any order of the fields', async () => {
    const headers = { 'Idempotency-Key': 'same' };
    const first = await create(headers, { cpus: 1, agentId: 'a' });
    const again = await create(headers, { agentId: 'a', cpus: 1 });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.headers.get('Location')).toBe(first.headers.get('Location'));
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await again.text()).toBe(await first.text());
    expect(door.sagas.started.length).toBe(1);
  });

  it('is answered with the current state', async () => {
    const headers = { 'Idempotency-Key': 'later', Prefer: 'wait=0' };
    const { id } = await viewOf(await create(headers));
    const at = new Date().toISOString();
    const states = [
      ['creating', null, 202],
      ['running', at, 201],
      ['paused', at, 200],
      ['destroyed', at, 200],
    ] as const;
    for (const [state, runningAt, status] of states) {
      await door.store.sandboxes.update(id, { state, runningAt });
      const again = await create(headers);
      expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([status, 'true']);
      expect(await viewOf(again)).toMatchObject({ id, state });
    }
    expect(door.sagas.started.length).toBe(1);
  });

  it('is refused with another body', async () => {
    await create({ 'Idempotency-Key': 'other' });
    const response = await create({ 'Idempotency-Key': 'other' }, { cpus: 3 });
    expect(await problemOf(response)).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect(door.sagas.started.length).toBe(1);
  });

  it('creates one sandbox for ten concurrent requests', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => create({ 'Idempotency-Key': 'race' })));
    const ids = await Promise.all(responses.map(async (response) => (await viewOf(response)).id));
    expect(new Set(ids).size).toBe(1);
    expect(new Set(door.sagas.started).size).toBe(1);
  });

  it('keeps its sandbox when Temporal was unavailable at the first request', async () => {
    door.sagas.failing = new MayflyError('temporal_unavailable', 'away');
    expect((await create({ 'Idempotency-Key': 'away' })).status).toBe(503);
    door.sagas.failing = null;
    const response = await create({ 'Idempotency-Key': 'away' });
    expect(response.status).toBe(201);
  });

  it('repeats a failure too', async () => {
    door.sagas.outcome = 'failed';
    const first = await create({ 'Idempotency-Key': 'failed' });
    door.sagas.outcome = 'running';
    const again = await create({ 'Idempotency-Key': 'failed' });
    expect([first.status, again.status, again.headers.get('Content-Type')]).toEqual([
      504,
      504,
      'application/problem+json',
    ]);
  });

  it('whose first caller disconnected still waits for the end', async () => {
    door.sagas.outcome = 'never';
    const key = await door.key('admin');
    const leaving = new AbortController();
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json', 'Idempotency-Key': 'left' };
    const init = { method: 'POST', headers, body: '{"source":"golden"}' };
    const first = door.app.request('/v1/sandboxes', { ...init, signal: leaving.signal });
    await expect.poll(() => door.sagas.started.length).toBe(1);
    leaving.abort();
    await first;
    door.sagas.outcome = 'running';
    const second = await door.app.request('/v1/sandboxes', init);
    expect([second.status, (await viewOf(second)).id]).toEqual([201, door.sagas.started[0]]);
    expect(door.sagas.started.length).toBe(1);
  });
});

describe('a sandbox', () => {
  it('is updated, is destroyed with a proof, and then refuses both', async () => {
    const { id } = await viewOf(await create());
    const path = `/v1/sandboxes/${id}`;
    const patched = await door.call('PATCH', path, {
      ttlSeconds: 60,
      idleSeconds: null,
      onIdle: 'hibernate',
      metadata: { a: 'b' },
    });
    expect((await viewOf(patched)).spec).toMatchObject({ ttlSeconds: 60, onIdle: 'hibernate', metadata: { a: 'b' } });
    expect((await door.call('PATCH', path, {})).status).toBe(422);

    const deleted = await door.call('DELETE', path);
    expect(deleted.status).toBe(200);
    expect(await viewOf(deleted)).toMatchObject({ state: 'destroyed', proof: { sandboxId: id } });
    expect((await door.call('DELETE', path)).status).toBe(200);
    expect(await problemOf(await door.call('PATCH', path, { ttlSeconds: 1 }))).toMatchObject({ code: 'sandbox_ended' });
  });

  it('that is slow to end answers 202', async () => {
    const { id } = await viewOf(await create());
    door.sagas.outcome = 'never';
    const response = await door.call('DELETE', `/v1/sandboxes/${id}`, undefined, { Prefer: 'wait=0' });
    expect([response.status, response.headers.get('Location')]).toEqual([202, `/v1/sandboxes/${id}`]);
    expect((await viewOf(response)).state).toBe('destroying');
  });

  it('is in the list, page by page', async () => {
    for (let n = 0; n < 3; n++) await create({}, { agentId: 'listed' });
    const first = await jsonOf<Page>(door.call('GET', '/v1/sandboxes?limit=2&state=running'));
    const second = await jsonOf<Page>(door.call('GET', `/v1/sandboxes?limit=2&cursor=${first.nextCursor}`));
    const ids = [...first.items, ...second.items].map((item) => item.id);
    expect(new Set(ids).size).toBe(4);
  });
});
