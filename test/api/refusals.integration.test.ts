import { afterEach, describe, expect, it } from 'vitest';
import { ERRORS } from '../../model/errors.ts';
import type { Problem } from '../../services/problems/problem.ts';
import { useDoor } from './support.ts';

const door = useDoor();

afterEach(async () => {
  expect(door.sagas.started, 'nothing may be made').toEqual([]);
  expect((await door.store.sandboxes.list({ limit: 1 })).items).toEqual([]);
});

async function problemOf(response: Response): Promise<Problem> {
  expect(response.headers.get('Content-Type')).toBe('application/problem+json');
  expect(response.headers.get('X-Request-Id')).toBeTruthy();
  const problem = (await response.json()) as Problem;
  expect(problem).toMatchObject({
    type: expect.any(String),
    title: ERRORS[problem.code].title,
    status: response.status,
    detail: expect.any(String),
    instance: expect.any(String),
    retryable: ERRORS[problem.code].retryable,
    requestId: response.headers.get('X-Request-Id'),
  });
  expect(response.status).toBe(ERRORS[problem.code].status);
  expect(response.headers.has('Retry-After')).toBe(problem.retryable);
  return problem;
}

const good = { source: 'golden' };
const huge = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']));

describe('a create with bad fields', () => {
  it.each<[field: string, body: unknown]>([
    ['source', {}],
    ['source', { source: 7 }],
    ['source', { source: '' }],
    ['source', { source: 'x'.repeat(129) }],
    ['source', { source: '../golden' }],
    ['source', { source: '-golden' }],
    ['source', { source: 'gol\u0000den' }],
    ['source', { source: 'gol\nden' }],
    ['source', { source: 'gol\u009bden' }],
    ['source', { source: { $ne: null } }],
    ['cpus', { ...good, cpus: -1 }],
    ['cpus', { ...good, cpus: 0 }],
    ['cpus', { ...good, cpus: 65 }],
    ['cpus', { ...good, cpus: 1.5 }],
    ['cpus', { ...good, cpus: '2' }],
    ['memoryMib', { ...good, memoryMib: -512 }],
    ['memoryMib', { ...good, memoryMib: 1e300 }],
    ['memoryMib', { ...good, memoryMib: 63 }],
    ['ttlSeconds', { ...good, ttlSeconds: 0 }],
    ['ttlSeconds', { ...good, ttlSeconds: 2_592_001 }],
    ['ttlSeconds', { ...good, ttlSeconds: null }],
    ['idleSeconds', { ...good, idleSeconds: -1 }],
    ['autoResume', { ...good, autoResume: 'yes' }],
    ['metadata', { ...good, metadata: [] }],
    ['metadata', { ...good, metadata: 'x' }],
    ['metadata', { ...good, metadata: huge(33) }],
    ['metadata.k', { ...good, metadata: { k: 1 } }],
    ['metadata.k', { ...good, metadata: { k: 'v'.repeat(1_025) } }],
    ['metadata.k', { ...good, metadata: { k: '\u0000' } }],
    ['metadata.constructor', { ...good, metadata: { constructor: 'x' } }],
    ['agentId', { ...good, agentId: 'a'.repeat(129) }],
    ['network.egress', { ...good, network: { egress: 'all' } }],
    ['network.extra', { ...good, network: { egress: 'none', extra: 1 } }],
    ['Source', { ...good, Source: 'golden' }],
    ['(body)', []],
    ['(body)', null],
    ['(body)', 'golden'],
  ])('names %s', async (field, body) => {
    const problem = await problemOf(await door.call('POST', '/v1/sandboxes', JSON.stringify(body)));
    expect(problem.code).toBe('invalid_request');
    expect(problem.errors?.map((error) => error.field).join(' ')).toContain(field.replace(/\.k$|\.constructor$/, ''));
  });

  it.each([
    '{"source":"golden","__proto__":{"cpus":1}}',
    '{"source":"golden","constructor":{"prototype":{}}}',
    '{"source":"golden","metadata":{"__proto__":"x"}}',
    `{"source":"golden","metadata":{"${'k'.repeat(64)}":"x"}}`,
    '{"source":"\\ud800"}',
    '{"source":"golden","agentId":"a\\udc00b"}',
    '{"source":"golden","metadata":{"\\ud800":"x"}}',
    '{"source":"golden","metadata":{"k":"\\ud800"}}',
  ])('refuses %s', async (text) => {
    expect((await problemOf(await door.call('POST', '/v1/sandboxes', text))).code).toBe('invalid_request');
    expect(({} as { cpus?: number }).cpus).toBeUndefined();
  });
});

describe('a body that is not JSON', () => {
  it.each(['', '{', '{"source":"golden"', 'source=golden', '{"source":"golden"}{}', '\u0000'])(
    'is refused: %j',
    async (text) => {
      expect((await problemOf(await door.call('POST', '/v1/sandboxes', text))).code).toBe('invalid_json');
    },
  );

  it.each([
    ['PUT', '/v1/schedules/deep', '{"function": "fn", "every": "1h", "event": {"data": $}}'],
    ['POST', `/v1/waitpoints/${'a'.repeat(60)}`, '{"data": $}'],
    ['POST', '/v1/sandboxes', '{"source": "golden", "metadata": {"a": $}}'],
  ])('is refused with 30,000 open brackets: %s %s', async (method, path, text) => {
    const deep = text.replace('$', `${'['.repeat(30_000)}${']'.repeat(30_000)}`);
    expect(await problemOf(await door.call(method, path, deep))).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  it('is refused when it is not UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"source":"gold'), Buffer.from([0xff, 0xfe]), Buffer.from('en"}')]);
    const key = await door.key('operator');
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const response = await door.app.request('/v1/sandboxes', { method: 'POST', headers, body });
    expect((await problemOf(response)).code).toBe('invalid_json');
  });

  const others = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    '',
    'application/json; charset=utf-16',
  ];
  it.each(others)('as %j', async (type) => {
    const response = await door.call('POST', '/v1/sandboxes', '{"source":"golden"}', { 'Content-Type': type });
    expect((await problemOf(response)).code).toBe('unsupported_media_type');
  });

  it('is refused at 10 MB, with or without a content length', async () => {
    const body = JSON.stringify({ ...good, agentId: 'x'.repeat(10_000_000) });
    expect((await problemOf(await door.call('POST', '/v1/sandboxes', body))).code).toBe('body_too_large');
    const headers = { 'X-API-Key': await door.key('operator'), 'Content-Type': 'application/json' };
    const chunked = new Request('http://x/v1/sandboxes', {
      method: 'POST',
      headers,
      body: new Blob([body]).stream(),
      duplex: 'half',
    });
    expect((await problemOf(await door.app.fetch(chunked))).code).toBe('body_too_large');
  });
});

describe('keys', () => {
  it('must be complete and not revoked', async () => {
    const secret = await door.key('operator');
    const id = secret.slice(4, 16);
    for (const authorization of ['', 'Bearer', 'Bearer x', `Basic ${secret}`, `Bearer ${secret}x`, 'Bearer mfk_']) {
      const response = await door.call('POST', '/v1/sandboxes', good, { Authorization: authorization });
      expect((await problemOf(response)).code).toBe('unauthenticated');
      expect(response.headers.get('WWW-Authenticate')).toContain('Bearer');
    }
    await door.store.apiKeys.revoke(id);
    const revoked = await door.call('POST', '/v1/sandboxes', good, {}, secret);
    expect((await problemOf(revoked)).code).toBe('unauthenticated');
  });

  it('allow what their scopes allow', async () => {
    const reader = await door.key('sandboxes:read');
    const writer = await door.key('sandboxes:write');
    const refused = [
      await door.call('POST', '/v1/sandboxes', good, {}, reader),
      await door.call('GET', '/v1/sandboxes', undefined, {}, writer),
      await door.call('POST', '/v1/keys', { name: 'x', scopes: ['admin'] }, {}, reader),
      await door.call('GET', '/v1/keys', undefined, {}, writer),
      await door.call('GET', '/v1/audit?sandboxId=sbx-0000000000000000', undefined, {}, reader),
    ];
    for (const response of refused) expect((await problemOf(response)).code).toBe('forbidden');
  });

  it('are required for every path but four and the parts of one, also for unknown ones', async () => {
    for (const path of ['/v1/sandboxes', '/v1/hosts', '/metrics', '/v1/nothing', '/', '/docs/x', '//healthz']) {
      expect((await problemOf(await door.app.request(path))).code, path).toBe('unauthenticated');
    }
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs']) {
      expect((await door.app.request(path)).status, path).toBe(200);
    }
  });
});

describe('paths and methods', () => {
  it.each([
    '/v1/sandboxes/..%2f..%2fetc%2fpasswd',
    '/v1/sandboxes/sbx-',
    '/v1/sandboxes/SBX-0000000000000000',
    '/v1/sandboxes/sbx-000000000000000i',
    '/v1/sandboxes/sbx-0000000000000000%00',
    '/v1/sandboxes/sbx-0000000000000000%0a/audit',
    '/v1/sandboxes/%7B%22$ne%22:1%7D/events',
    '/v1/sandboxes/%E0%A4%A',
  ])('refuse an invalid id: %s', async (path) => {
    expect((await problemOf(await door.call('GET', path))).code).toBe('invalid_id');
  });

  it('distinguish unknown sandboxes, paths and methods', async () => {
    const unknown = '/v1/sandboxes/sbx-0000000000000000';
    for (const path of [unknown, `${unknown}/audit`, `${unknown}/events`]) {
      expect((await problemOf(await door.call('GET', path))).code).toBe('sandbox_not_found');
    }
    expect((await problemOf(await door.call('DELETE', unknown))).code).toBe('sandbox_not_found');
    expect((await problemOf(await door.call('PATCH', unknown, { ttlSeconds: 1 }))).code).toBe('sandbox_not_found');
    expect((await problemOf(await door.call('GET', '/v1/nothing'))).code).toBe('not_found');
    for (const method of ['PUT', 'DELETE', 'PATCH', 'TRACE', 'FOO']) {
      if (method === 'TRACE') continue; // the Fetch API forbids TRACE
      const response = await door.call(method, '/v1/sandboxes');
      expect((await problemOf(response)).code).toBe('method_not_allowed');
      expect(response.headers.get('Allow')).toBe('GET, HEAD, POST');
    }
    const head = await door.call('HEAD', `${unknown}/pause`);
    expect([head.status, head.headers.get('Allow'), await head.text()]).toEqual([405, 'POST', '']);
  });

  it.each(['?limit=0', '?limit=201', '?limit=1e1', '?limit=1&limit=2', '?cursor=x', '?state=gone', '?unknown=1'])(
    'refuse the query %s',
    async (query) => {
      expect((await problemOf(await door.call('GET', `/v1/sandboxes${query}`))).code).toBe('invalid_request');
    },
  );
});

describe('a create that no host can satisfy', () => {
  it('is not retryable when it exceeds the total memory of each host', async () => {
    const response = await door.call('POST', '/v1/sandboxes', { source: 'golden', memoryMib: 8_193 });
    expect(response.headers.get('Retry-After')).toBeNull();
    expect(await problemOf(response)).toMatchObject({ status: 422, code: 'exceeds_hosts', retryable: false });
  });

  it('is refused before anything is created, and leaves the idempotency key free', async () => {
    const headers = { 'Idempotency-Key': 'unplaceable' };
    const missing = await door.call('POST', '/v1/sandboxes', { source: 'nosuch' }, headers);
    expect((await problemOf(missing)).code).toBe('source_not_found');
    const again = await door.call('POST', '/v1/sandboxes', { source: 'nosuch-either' }, headers);
    expect((await problemOf(again)).code).toBe('source_not_found');
  });

  it('is refused with an idempotency key that is too long', async () => {
    const headers = { 'Idempotency-Key': 'x'.repeat(256) };
    const problem = await problemOf(await door.call('POST', '/v1/sandboxes', good, headers));
    expect(problem).toMatchObject({ code: 'invalid_request', errors: [{ field: 'idempotency-key' }] });
  });
});
