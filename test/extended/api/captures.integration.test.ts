import { beforeEach, describe, expect, it } from 'vitest';
import type { SandboxView } from '../../../api/resources/sandbox-schemas.ts';
import type { CaptureView } from '../../../api/sources/captures.ts';
import { MayflyError } from '../../../model/errors.ts';
import { host, jsonOf, problemOf, useDoor } from '../../api/support.ts';

const RUNNING = { name: 'web 1', cloneable: false, problem: 'It is running', cpus: 1, memoryMib: 64, diskBytes: 1 };
const door = useDoor();

beforeEach(async () => {
  const { sagas, store } = door;
  Object.assign(sagas, { outcome: 'running', failing: null, refusal: null, started: [] });
  const { sources } = host('kvm-1');
  await store.hosts.describe(host('kvm-1', { sources: [...sources, RUNNING] }));
  for (const { id } of await store.captures.ready('web 1')) await store.captures.update(id, { state: 'deleted' });
});

const take = (body: object = {}, headers: Record<string, string> = {}, name = 'web%201') =>
  door.call('POST', `/v1/sources/${name}/captures`, body, headers);
const taken = async () => jsonOf<CaptureView>(take());
const sandbox = (body: object) => door.call('POST', '/v1/sandboxes', body);

describe('capturing a source', () => {
  it('answers 201 with the capture, which is then read and listed, newest first', async () => {
    const response = await take();
    const capture = await jsonOf<CaptureView>(response);
    expect([response.status, response.headers.get('Location')]).toEqual([201, `/v1/captures/${capture.id}`]);
    expect(capture).toMatchObject({ source: 'web 1', hostId: 'kvm-1', state: 'ready', failure: null });
    expect(await jsonOf(door.call('GET', `/v1/captures/${capture.id}`))).toEqual(capture);
    const second = await taken();
    const { items } = await jsonOf<{ items: CaptureView[] }>(door.call('GET', '/v1/sources/web%201/captures?limit=2'));
    expect(items.map(({ id }) => id)).toEqual([second.id, capture.id]);
  });

  it('answers 202 when the wait ends first, even before a record exists', async () => {
    const response = await take({}, { Prefer: 'wait=0' });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ state: 'creating', saved: null });
  });

  it('happens once for one key, and a failure names its step', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const first = await jsonOf(take({}, headers));
    const again = await take({}, headers);
    expect([await again.json(), again.headers.get('Idempotent-Replayed')]).toEqual([first, 'true']);
    expect(door.sagas.started.length).toBe(1);
    expect((await take({ hostId: 'kvm-1' }, headers)).status).toBe(422);
    door.sagas.outcome = 'failed';
    const failed = await problemOf(await take());
    expect(failed).toMatchObject({ code: 'capture_failed', status: 502, detail: 'awaitCapture: no' });
    expect(failed.captureId).toMatch(/^cap-/);
  });

  it('is refused for bad input, an unknown source, a busy one and a key without the scope', async () => {
    const refused = async (response: Promise<Response>) => (await problemOf(await response)).code;
    expect(await refused(take({ more: 1 }))).toBe('invalid_request');
    expect(await refused(take({ hostId: '../x' }))).toBe('invalid_request');
    expect(await refused(take({}, {}, '-x'))).toBe('invalid_id');
    expect(await refused(take({}, {}, 'absent'))).toBe('source_not_found');
    expect(await refused(take({ hostId: 'kvm-9' }))).toBe('source_not_found');
    door.sagas.refusal = new MayflyError('source_busy', 'busy', { retryAfterSeconds: 5 });
    const busy = await take();
    expect([busy.status, busy.headers.get('Retry-After')]).toEqual([409, '5']);
    const writer = await door.key('sandboxes:write', 'sandboxes:read');
    const path = '/v1/sources/web%201/captures';
    expect((await door.call('POST', path, {}, {}, writer)).status).toBe(403);
    expect((await door.call('GET', path, undefined, {}, writer)).status).toBe(200);
    for (const id of ['cap-0123456789abcde!', 'snp-0123456789abcdef', '..%2f..']) {
      expect(await refused(door.call('GET', `/v1/captures/${id}`))).toBe('invalid_id');
    }
    expect(await refused(door.call('GET', '/v1/captures/cap-0123456789abcdef'))).toBe('capture_not_found');
    expect(await refused(door.call('DELETE', '/v1/captures/cap-0123456789abcdef'))).toBe('capture_not_found');
    expect(await refused(door.call('GET', `${path}?cursor=x`))).toBe('invalid_request');
  });
});

describe('deleting a capture', () => {
  it('answers 200 after the delete, and again', async () => {
    const { id } = await taken();
    for (let twice = 0; twice < 2; twice++) {
      const response = await door.call('DELETE', `/v1/captures/${id}`);
      expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ state: 'deleted' })]);
    }
  });

  it('answers 409 with the reference to it, and 202 when the wait ends first', async () => {
    const { id } = await taken();
    door.sagas.outcome = 'failed';
    const refused = await door.call('DELETE', `/v1/captures/${id}`);
    expect(await refused.json()).toMatchObject({
      code: 'capture_in_use',
      status: 409,
      detail: expect.stringContaining('sbx-0123456789abcdef refers to it'),
    });
    const response = await door.call('DELETE', `/v1/captures/${id}`, undefined, { Prefer: 'wait=0' });
    expect([response.status, response.headers.get('Location')]).toEqual([202, `/v1/captures/${id}`]);
  });
});

describe('a sandbox of a running source', () => {
  it('starts from its newest capture, or from a named one', async () => {
    const first = await taken();
    const second = await taken();
    const newest = await jsonOf<SandboxView>(sandbox({ source: 'web 1' }));
    expect(newest.spec).toMatchObject({ source: 'web 1', captureId: second.id, snapshotId: null });
    const named = await jsonOf<SandboxView>(sandbox({ source: 'web 1', captureId: first.id }));
    expect(named.spec.captureId).toBe(first.id);
    const stopped = await jsonOf<SandboxView>(sandbox({ source: 'golden' }));
    expect(stopped.spec.captureId).toBeNull();
  });

  it('is refused for a capture of another source, unready, unknown, or on an unavailable host', async () => {
    const { id } = await taken();
    const refused = async (body: object) => (await problemOf(await sandbox(body))).code;
    expect(await refused({ captureId: id })).toBe('invalid_request');
    expect(await refused({ source: 'golden', captureId: id })).toBe('invalid_request');
    expect(await refused({ source: 'web 1', captureId: 'x' })).toBe('invalid_request');
    expect(await refused({ source: 'web 1', captureId: 'cap-0123456789abcdef' })).toBe('capture_not_found');
    await door.store.captures.update(id, { state: 'deleting' });
    expect(await refused({ source: 'web 1', captureId: id })).toBe('capture_not_ready');
    await door.store.captures.update(id, { state: 'ready' });
    await door.store.hosts.describe(host('kvm-1', { lastSeenAt: new Date(0).toISOString() }));
    await door.store.hosts.describe(host('kvm-2', { sources: [RUNNING] }));
    expect(await refused({ source: 'web 1', captureId: id })).toBe('no_host');
    const without = await jsonOf<SandboxView>(sandbox({ source: 'web 1' }));
    expect(without.spec.captureId).toBeNull();
    await door.store.hosts.describe(host('kvm-2', { lastSeenAt: new Date(0).toISOString() }));
  });
});
