import { type AddressInfo, connect, type Server } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../../../api/app.ts';
import { openApiDocument } from '../../../../api/description/openapi.ts';
import { createHookApp } from '../../../../api/hooks/hook-door.ts';
import { apiServer } from '../../../../api/server/api-server.ts';
import { EventIntake } from '../../../../services/intake/acceptance.ts';
import { InputSchemas } from '../../../../services/schema/input-schemas.ts';
import { githubHeaders, type HookView, said, useHooks } from '../../../api/hooks/use-hooks.ts';
import { jsonOf, noGuests } from '../../../api/support.ts';
import { listen } from '../../../support/listen.ts';
import { HANGS_AFTER_MS } from '../../../support/test-timeouts.ts';

/** Promise: a port of their own serves hooks only, for any request; the API's port then serves none. Seconds. */
const { door, deploy, make } = useHooks();
const logger = pino({ level: 'silent' });
const BODY = '{"n":1}';
const HOST = 'Host: hooks.example.net\r\n';
const registry = new Registry();
let hooks: ReturnType<typeof createHookApp>;
let api: ReturnType<typeof createApp>;
let server: Server;
let key: string;

beforeAll(async () => {
  const { store, sagas } = door();
  const own = { store, sagas, logger, metrics: registry, hookAnswerMs: HANGS_AFTER_MS };
  const acceptance = new EventIntake(own, new InputSchemas());
  hooks = createHookApp(own, acceptance);
  const hookPlace = { url: 'https://hooks.example.net', isHere: false };
  api = createApp({ ...own, guests: noGuests, version: '0', hookPlace }, acceptance);
  key = await door().key('operator');
  server = apiServer(hooks, logger, { bodyMs: 300 });
  await listen(server);
});
afterAll(() => server?.close());

/** Sends raw bytes, and returns the response up to the end of the connection. */
async function raw(text: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(text, 'latin1');
  let answer = '';
  for await (const piece of socket.setEncoding('utf8')) answer += String(piece);
  return answer;
}

/** Returns the bytes of a request with a key of all scopes. */
function bytesOf(method: string, target: string, headers = HOST): string {
  return `${method} ${target} HTTP/1.1\r\n${headers}Authorization: Bearer ${key}\r\n`;
}
const LAST = 'Connection: close\r\nContent-Length: 0\r\n\r\n';
const statuses = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

async function signed(path: string): Promise<string> {
  const lines = githubHeaders(BODY).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${HOST}${lines.join('')}Content-Length: ${BODY.length}\r\n`;
}

test('an event is accepted there and counted, and its hook shows that URL', async () => {
  const { id, path } = await make();
  expect(statuses(await raw(`${await signed(path)}Connection: close\r\n\r\n${BODY}`))).toEqual([202]);
  expect((await hooks.request(path, { method: 'OPTIONS' })).headers.get('Allow')).toBe('OPTIONS, POST');
  const answer = await api.request(`/v1/hooks/${id}`, { headers: { Authorization: `Bearer ${key}` } });
  expect((await jsonOf<HookView & { url: string }>(answer)).url).toBe(`https://hooks.example.net${path}`);
  const counted = await registry.getSingleMetric('mayfly_http_requests_total')?.get();
  const routes = counted?.values.map(({ labels }) => labels['route']);
  expect(routes).toEqual(expect.arrayContaining(['/h/:hookId', '/v1/hooks/:id']));
});

test('no operation of the API is served there, by any method, even with a key of all scopes', async () => {
  const { paths = {} } = openApiDocument(api, '0');
  const more = ['/', '/h', '/h/', '/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/approvals', '/mcp'];
  const given = [...Object.keys(paths), ...more].map((path) => path.replaceAll(/\{\w+\}/g, 'x'));
  const headers = { Authorization: `Bearer ${key}` };
  for (const path of given) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
      const answer = await hooks.request(path, { method, headers });
      expect([method, path, answer.status, answer.headers.get('X-Mayfly-Code')]).toEqual([
        method,
        path,
        404,
        'not_found',
      ]);
    }
  }
});

test('a hook accepts no other method there, and has no paths below it', async () => {
  const { path } = await make();
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await hooks.request(path, { method });
    expect([method, answer.status, answer.headers.get('Allow')]).toEqual([method, 405, 'OPTIONS, POST']);
  }
  for (const below of [`${path}/x`, `/v1${path}`, `${path}%2fx/`, `//${path}`, `/H${path.slice(2)}`]) {
    expect([below, (await hooks.request(below, { method: 'POST' })).status]).toEqual([below, 404]);
  }
});

test.each([
  ['an absolute target', 'http://127.0.0.1:7999/v1/functions', HOST],
  ['an absolute target of another scheme', 'https://api.example.net/v1/functions', HOST],
  ['the Host of the API', '/v1/functions', 'Host: 127.0.0.1:7999\r\n'],
  [
    'headers of a proxy',
    '/h',
    `${HOST}X-Forwarded-Host: api\r\nX-Original-URL: /v1/functions\r\nX-Rewrite-URL: /v1/keys\r\n`,
  ],
  ['another method in a header', '/v1/functions', `${HOST}X-HTTP-Method-Override: GET\r\n`],
  ['a path that climbs', '/h/../v1/functions', HOST],
  ['one that climbs encoded', '/h/%2e%2e/v1/functions', HOST],
  ['one with encoded slashes', '/h%2f..%2fv1%2ffunctions', HOST],
])('%s reaches nothing else', async (_what, target, headers) => {
  for (const method of ['GET', 'POST']) {
    expect(statuses(await raw(bytesOf(method, target, headers) + LAST))).toEqual([404]);
  }
});

test('requests pipelined behind an event, or hidden in its body, reach nothing else', async () => {
  const { path } = await make();
  const behind = bytesOf('GET', '/v1/functions') + LAST;
  const answer = await raw(`${await signed(path)}\r\n${BODY}${bytesOf('GET', '/healthz')}\r\n${behind}`);
  expect(statuses(answer)).toEqual([202, 404, 404]);
  const hidden = `${(await signed(path)).replace(/Content-Length: \d+/, `Content-Length: ${behind.length}`)}Connection: close\r\n\r\n${behind}`;
  expect(statuses(await raw(hidden))).toEqual([401]);
  const twoLengths = `${await signed(path)}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${behind}`;
  expect(statuses(await raw(twoLengths))).toEqual([400]);
});

test('limits are those of the API: headers, bodies, and their time', async () => {
  const { path } = await make();
  expect(statuses(await raw(`POST ${path} HTTP/1.1\r\n${HOST}A: ${'a'.repeat(20_000)}\r\n\r\n`))).toEqual([431]);
  const large = (await signed(path)).replace(/Content-Length: \d+/, 'Content-Length: 26214401');
  expect(statuses(await raw(`${large}Connection: close\r\n\r\n`))).toEqual([413]);
  expect(statuses(await raw(`${await signed(path)}\r\n{`))).toEqual([408]);
  expect(statuses(await raw(bytesOf('CONNECT', 'api:7999') + LAST))).toEqual([405]);
});

test('the API then serves no hooks, and does not reveal them', async () => {
  const { path } = await make({ function: await deploy() });
  for (const method of ['POST', 'OPTIONS', 'GET']) {
    const headers = githubHeaders(BODY) as [string, string][];
    const init = method === 'POST' ? { method, headers, body: BODY } : { method };
    expect(await said(api.request(path, init))).toMatchObject({ status: 404, code: 'not_found' });
  }
});
