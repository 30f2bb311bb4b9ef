import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IngressDoor } from '../../ports/ingress-door.ts';
import { listen } from '../../support/listen.ts';

// Case 6 of the ports of issue 15: attacks of a sandbox's program, and of its pages, on others.
let door: IngressDoor;
let victim: Server;
let port: number;
let token: string;
const seen: { url: string; body: string; headers: IncomingMessage['headers'] }[] = [];

beforeAll(async () => {
  door = await IngressDoor.open();
  const serve = async (incoming: IncomingMessage, answer: ServerResponse) => {
    seen.push({ url: incoming.url ?? '', body: await text(incoming), headers: incoming.headers });
    answer.end('victim');
  };
  victim = createServer((incoming, answer) => void serve(incoming, answer));
  port = await listen(victim);
  token = await door.expose(port);
});
afterAll(async () => {
  victim?.closeAllConnections();
  victim?.close();
  await door?.close();
});

function head(line: string, headers: Record<string, string>): string {
  const all = { Host: door.hostOf(port), 'X-Mayfly-Token': token, Connection: 'close', ...headers };
  return `${line}\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
}

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

test.for([
  ['two framings', { 'Content-Length': '4', 'Transfer-Encoding': 'chunked' }, `0\r\n\r\n${SMUGGLED}`],
  ['two lengths', { 'Content-Length': '4\r\nContent-Length: 40' }, SMUGGLED],
  ['an odd length', { 'Content-Length': '+4' }, SMUGGLED],
  ['an odd coding', { 'Transfer-Encoding': 'xchunked' }, `0\r\n\r\n${SMUGGLED}`],
  ['a coding behind another', { 'Transfer-Encoding': 'chunked, identity' }, `0\r\n\r\n${SMUGGLED}`],
  ['a hidden coding', { 'Transfer-Encoding ': 'chunked' }, `0\r\n\r\n${SMUGGLED}`],
  ['a folded header', { 'X-A': 'b\r\n Transfer-Encoding: chunked' }, SMUGGLED],
  ['a chunk that is none', { 'Transfer-Encoding': 'chunked' }, `zz\r\n${SMUGGLED}`],
  ['a bare line feed', { 'X-A': 'b\nTransfer-Encoding: chunked' }, SMUGGLED],
] as const)('%s smuggle no request to the program', async ([, headers, body]) => {
  const answered = await door.raw(head('POST /first HTTP/1.1', headers) + body);
  expect(seen.map(({ url }) => url)).not.toContain('/smuggled');
  expect(answered.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0).toBeLessThanOrEqual(1);
});

test('a length header named in Connection is not dropped', async () => {
  await door.raw(
    `${head('POST /dropped HTTP/1.1', { 'Content-Length': '4', Connection: 'close, content-length, host' })}body`,
  );
  const { body, headers } = seen.at(-1) ?? { body: '', headers: {} };
  expect(body).toBe('body');
  expect(headers).toMatchObject({ host: `localhost:${port}`, 'content-length': '4' });
});

test('a foreign address, two hosts, a path traversal and a tunnel are refused', async () => {
  const before = seen.length;
  const api = new URL(door.ports.url);
  const name = `localhost:${door.listens}`;
  const nothing = [
    head(`GET http://${api.host}/v1/keys HTTP/1.1`, {}),
    head('GET /a HTTP/1.1', { Host: `${door.hostOf(port)}\r\nHost: ${api.host}` }),
    head('GET /a HTTP/1.1', { Host: api.host }),
    head('GET /a HTTP/1.1', { Host: '169.254.169.254' }),
    head('GET /v1/sandboxes HTTP/1.1', { Host: name }),
    head(`GET /../v1/sandboxes HTTP/1.1`, { Host: name }),
    head(`GET /x/../${port}-${door.ports.id}/ HTTP/1.1`, { Host: name }),
    head(`GET /${port}-${door.ports.id}%2f..%2f9 HTTP/1.1`, { Host: name }),
    head(`GET /${port}@evil-${door.ports.id}/ HTTP/1.1`, { Host: name }),
    head(`CONNECT 127.0.0.1:${api.port} HTTP/1.1`, {}),
    head('OPTIONS * HTTP/1.1', {}),
    head('PRI * HTTP/2.0', {}),
  ];
  for (const request of nothing) expect(await door.raw(request)).not.toMatch(/^HTTP\/1\.1 [23]/);
  expect(seen).toHaveLength(before);
  // A traversal of the program's own folder is passed to the program.
  await door.raw(head(`GET /${port}-${door.ports.id}/../../etc/passwd HTTP/1.1`, { Host: name }));
  expect(seen.at(-1)?.url).toBe('/../../etc/passwd');
});

test('only open ports are reachable: no other port of the guest, and none of this machine', async () => {
  const unopened = createServer((_incoming, answer) => answer.end('secret'));
  const other = await listen(unopened);
  const api = Number(new URL(door.ports.url).port);
  const headers = { 'x-mayfly-token': token };
  for (const closed of [other, api, door.listens, 22, 1, 65_535]) {
    expect((await door.get(door.hostOf(closed), '/', { headers })).status).toBe(404);
    expect((await door.get(`localhost:${door.listens}`, `/${closed}-${door.ports.id}/`, { headers })).status).toBe(404);
  }
  expect((await door.get(door.hostOf(65_536), '/', { headers })).status).toBe(404);
  unopened.close();
});

test('the API answers no page of a guest: no cookie authenticates, and no other origin can read', async () => {
  const origin = `http://${door.hostOf(port)}`;
  const { app } = door.ports.door;
  const ask = (path: string, init: RequestInit) => app.request(path, init);
  const preflight = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  };
  const answers = [
    await ask('/v1/sandboxes', { headers: { origin, cookie: `__Host-mayfly-token=${token}` } }),
    await ask('/v1/sandboxes', { headers: { origin, 'x-mayfly-token': token } }),
    await ask('/v1/sandboxes', { method: 'OPTIONS', headers: preflight }),
  ];
  for (const answer of answers) {
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  }
  // The page of the API's description cannot be framed.
  expect((await ask('/docs', {})).headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
});
