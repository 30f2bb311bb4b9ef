import { beforeEach, describe, expect, it } from 'vitest';
import type { SandboxView } from '../../../api/resources/sandbox-schemas.ts';
import { host, jsonOf, problemOf, useDoor } from '../../api/support.ts';

const door = useDoor();
beforeEach(async () => {
  door.sagas.outcome = 'running';
  door.sagas.failing = null;
  await door.store.hosts.describe(host('kvm-1'));
});

const post = (body: object, headers: Record<string, string> = {}, key?: string) =>
  door.call('POST', '/v1/sandboxes', { source: 'golden', ...body }, headers, key);
const made = (name: string) => jsonOf<SandboxView>(post({ name }));
const keyed = (key: string) => ({ 'Idempotency-Key': key });

// Promise: a name belongs to one living sandbox, and a second create of it is refused at once. Costs 1 s.
describe('POST /v1/sandboxes with a name', () => {
  it('answers with it, and with null without one', async () => {
    expect(await made('first')).toMatchObject({ name: 'first', id: expect.stringMatching(/^sbx-/) });
    expect(await jsonOf<SandboxView>(post({}))).toMatchObject({ name: null });
  });

  it('is refused while another has it, whose id is named, and starts nothing', async () => {
    const { id } = await made('taken');
    const before = door.sagas.started.length;
    const refused = await problemOf(post({ name: 'taken' }));
    expect(refused).toMatchObject({ code: 'name_taken', status: 409, retryable: false });
    expect(refused.detail).toContain(id);
    expect(door.sagas.started).toHaveLength(before);
  });

  it('does not name the holder to a key that cannot read sandboxes', async () => {
    const { id } = await made('unseen');
    const blind = await door.key('sandboxes:write');
    const refused = await problemOf(post({ name: 'unseen' }, {}, blind));
    expect(refused.code).toBe('name_taken');
    expect(JSON.stringify(refused)).not.toContain(id);
  });

  it('gives the same answer to the same Idempotency-Key, also during the first request', async () => {
    const both = await Promise.all([1, 2].map(() => post({ name: 'same' }, keyed('same'))));
    const again = await post({ name: 'same' }, keyed('same'));
    const ids = await Promise.all([...both, again].map(async (one) => (await jsonOf<SandboxView>(one)).id));
    expect(new Set(ids).size).toBe(1);
    expect((await problemOf(post({ name: 'other' }, keyed('same')))).code).toBe('idempotency_key_reused');
  });

  it('keeps no Idempotency-Key for a refusal: the same request works when the name is free', async () => {
    const { id } = await made('later');
    expect((await problemOf(post({ name: 'later' }, keyed('later')))).code).toBe('name_taken');
    await door.call('DELETE', `/v1/sandboxes/${id}`);
    const second = await jsonOf<SandboxView>(post({ name: 'later' }, keyed('later')));
    expect(second.name).toBe('later');
    expect(second.id).not.toBe(id);
  });

  it('refuses invalid names, and names that look like an id', async () => {
    const hostile = [
      '',
      'Web',
      'a_b',
      'a.b',
      '-a',
      'a-',
      '1a',
      'a'.repeat(64),
      'ä',
      'a b',
      'a/b',
      '../x',
      '$ne',
      'a\u0000',
    ];
    const ids = ['sbx-0123456789abcdef', 'sbx-x', 'snp-x', 'src-x', 'cap-x', 'opn-x', 'cmd-x'];
    for (const name of [...hostile, ...ids, null, 1, {}, ['a']]) {
      const refused = await problemOf(post({ name }));
      expect({ name, code: refused.code, field: refused.errors?.[0]?.field }).toEqual({
        name,
        code: 'invalid_request',
        field: 'name',
      });
    }
    for (const name of ['a', 'sbx', 'sbxx-1', 'a'.repeat(63), 'current', 'constructor']) {
      expect((await made(name)).name).toBe(name);
    }
  });

  it('takes none for several forks at once', async () => {
    const forks = { source: undefined, snapshotId: 'snp-0123456789abcdef', count: 1, name: 'forks' };
    expect((await problemOf(post(forks))).errors).toEqual([
      { field: 'name', problem: 'may not be given together with count' },
    ]);
  });
});

// Promise: a name works wherever an id does. Costs 1 s.
describe('a name instead of an id', () => {
  it('is accepted by every route of a sandbox, and answered with the id', async () => {
    const { id } = await made('everywhere');
    const routes = Object.keys((await jsonOf<{ paths: object }>(door.call('GET', '/openapi.json'))).paths)
      .filter((route) => route.startsWith('/v1/sandboxes/{id}'))
      .map((route) => route.replace('{id}', 'everywhere'));
    expect(routes.length).toBeGreaterThan(12);
    const answers: string[] = [];
    for (const route of routes) {
      const path = route
        .replace('{path}', 'etc/x')
        .replace('{commandId}', 'cmd-0123456789abcdef')
        .replace('{credential}', '1');
      for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
        if (path.endsWith('/events') || (path === '/v1/sandboxes/everywhere' && method === 'DELETE')) continue;
        const response = await door.call(method, path, method === 'POST' ? {} : undefined);
        if (response.status === 405) continue;
        const text = await response.text();
        answers.push(`${method} ${path} ${response.status} ${text}`);
        // No handler has seen the name: it would not find it, or refuse it.
        expect(text).not.toMatch(/"code":"(?:invalid_id|sandbox_not_found|internal)"/);
      }
    }
    expect(answers.length).toBeGreaterThan(15);
    expect(await jsonOf(door.call('GET', '/v1/sandboxes/everywhere'))).toMatchObject({ id, name: 'everywhere' });
    const audit = await jsonOf<{ items: unknown[] }>(door.call('GET', '/v1/audit?sandboxId=everywhere'));
    expect(audit).toEqual(await jsonOf(door.call('GET', `/v1/audit?sandboxId=${id}`)));
  });

  it('filters the list', async () => {
    const { id } = await made('listed');
    const list = async (query: string) =>
      (await jsonOf<{ items: SandboxView[] }>(door.call('GET', `/v1/sandboxes?${query}`))).items.map((one) => one.id);
    expect(await list('name=listed')).toEqual([id]);
    expect(await list('name=listed&state=paused')).toEqual([]);
    expect(await list('name=nobody')).toEqual([]);
    expect((await problemOf(door.call('GET', '/v1/sandboxes?name=sbx-x'))).code).toBe('invalid_request');
  });

  it('is not found after its sandbox has ended, which is found by its id', async () => {
    const { id } = await made('gone');
    expect((await door.call('DELETE', '/v1/sandboxes/gone')).status).toBe(200);
    for (const method of ['GET', 'DELETE']) {
      const late = await problemOf(door.call(method, '/v1/sandboxes/gone'));
      expect(late).toMatchObject({ code: 'sandbox_not_found', status: 404 });
      expect(late.detail).toContain('use its id');
    }
    expect(await jsonOf(door.call('GET', `/v1/sandboxes/${id}`))).toMatchObject({ name: 'gone', state: 'destroyed' });
    const { id: next } = await made('gone');
    expect(await jsonOf(door.call('GET', '/v1/sandboxes/gone'))).toMatchObject({ id: next });
  });

  it('does not apply an old request to the next sandbox of that name', async () => {
    const { id } = await made('moves');
    const run = (sandbox: string) =>
      door.call('POST', `/v1/sandboxes/${sandbox}/pause`, undefined, keyed('pause-once'));
    expect((await run('moves')).status).toBe(200);
    expect((await run('moves')).headers.get('Idempotent-Replayed')).toBe('true');
    expect((await run(id)).headers.get('Idempotent-Replayed')).toBe('true');
    await door.call('DELETE', `/v1/sandboxes/${id}`);
    const { id: next } = await made('moves');
    expect((await problemOf(run('moves'))).code).toBe('idempotency_key_reused');
    expect((await jsonOf<SandboxView>(door.call('GET', `/v1/sandboxes/${next}`))).state).toBe('running');
  });

  it('reveals nothing to a key without the scope of the route: 403 in either case', async () => {
    await made('hidden');
    const keys = { look: await door.key('sources:look'), write: await door.key('sandboxes:write') };
    for (const name of ['hidden', 'nobody']) {
      for (const key of [keys.look, keys.write]) {
        const answer = await problemOf(door.call('GET', `/v1/sandboxes/${name}`, undefined, {}, key));
        expect(answer).toMatchObject({ code: 'forbidden' });
      }
      const query = `/v1/audit?sandboxId=${name}`;
      expect((await problemOf(door.call('GET', query, undefined, {}, keys.write))).code).toBe('forbidden');
    }
    expect((await problemOf(door.call('GET', '/v1/sandboxes/hidden', undefined, {}, 'mfk_x'))).code).toBe(
      'unauthenticated',
    );
  });

  it('is refused when it is invalid', async () => {
    for (const text of [
      'Web',
      'sbx-x',
      'sbx-0123456789abcdeF',
      'a_b',
      '%24ne',
      'a'.repeat(64),
      'snp-0123456789abcdef',
      'a%0A',
    ]) {
      expect((await problemOf(door.call('GET', `/v1/sandboxes/${text}`))).code).toBe('invalid_id');
    }
  });
});
