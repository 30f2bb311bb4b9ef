import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import type { IngressDoor } from '../../ports/ingress-door.ts';
import { usePrograms } from '../../ports/programs.ts';
import { upgradeRequest } from '../../ports/upgrade-request.ts';

/** RFC 6455 §1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

let door: IngressDoor;
const programs = usePrograms((opened) => (door = opened));

interface Echo {
  port: number;
  seen: IncomingMessage[];
  sockets: Duplex[];
}

/** Starts a program that upgrades, and then echoes. */
async function echo(): Promise<Echo> {
  const seen: IncomingMessage[] = [];
  const sockets: Duplex[] = [];
  const server = createServer((incoming, answer) => {
    seen.push(incoming);
    answer.end('plain');
  });
  server.on('upgrade', (incoming, socket) => {
    seen.push(incoming);
    sockets.push(socket.on('error', () => {}));
    if (incoming.url === '/refused') return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    const accept = createHash('sha1').update(`${incoming.headers['sec-websocket-key']}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nX-Mayfly-Code: x\r\n\r\nfirst`,
    );
    socket.pipe(socket);
  });
  return { port: await programs.listen(server), seen, sockets };
}

/** Sends a request with the bytes behind it, and waits for `until` in the answer. */
async function upgraded(request: string, until: string): Promise<{ socket: Socket; said: () => string }> {
  const socket = door.dial();
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
  socket.write(request);
  await expect.poll(() => said).toContain(until);
  return { socket, said: () => said };
}

test('a program that switches protocols without a request has failed', async () => {
  const server = createServer(({ socket }) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
  });
  const port = await programs.listen(server);
  const token = await door.expose(port);
  const answer = await door.get(door.hostOf(port), '/', { headers: { 'x-mayfly-token': token } });
  expect(answer.status).toBe(502);
  expect(answer.headers['x-mayfly-code']).toBe('port_failed');
});

test('a WebSocket accepts the token in a header, in the URL and in the cookie, and never forwards it', async () => {
  const { port, seen } = await echo();
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const ways = [
    upgradeRequest(host, '/ws?a=b', { 'X-Mayfly-Token': token, Origin: `http://${host}` }),
    upgradeRequest(host, `/ws?mayfly-token=${token}&a=b`, { Origin: 'https://dashboard.example' }),
    upgradeRequest(host, '/ws?a=b', {
      Cookie: `c=d; __Host-mayfly-token=${token}`,
      Origin: `http://${host}`,
      'Sec-Fetch-Site': 'same-origin',
    }),
  ];
  for (const way of ways) {
    const { socket, said } = await upgraded(`${way}behind`, 'firstbehind');
    expect(said()).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(said()).toContain('sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    expect(said()).not.toContain('x-mayfly-code');
    socket.write('more');
    await expect.poll(said).toContain('firstbehindmore');
    socket.destroy();
  }
  const local = `localhost:${port}`;
  const origins = [`http://${local}`, 'https://dashboard.example', `http://${local}`];
  for (const [n, { url, headers }] of seen.entries()) {
    expect(url).toBe('/ws?a=b');
    expect(headers).toMatchObject({ host: local, origin: origins[n], upgrade: 'websocket' });
    expect(JSON.stringify(headers)).not.toContain('mayfly');
  }
});

test('a page of another guest cannot open a WebSocket with the cookie of a user', async () => {
  const { port, seen } = await echo();
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const cookie = { Cookie: `__Host-mayfly-token=${token}` };
  const hostile = [
    { ...cookie, Origin: `http://${door.hostOf(port + 1)}` },
    { ...cookie, Origin: 'null' },
    { ...cookie, 'Sec-Fetch-Site': 'same-site' },
    { ...cookie, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'websocket' },
  ];
  for (const headers of hostile)
    expect(await door.raw(upgradeRequest(host, '/ws', headers))).toMatch(/^HTTP\/1\.1 404 /);
  const read = (more: Record<string, string>) => door.get(host, '/', { headers: { ...more, ...cookie } });
  expect(
    (await read({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' })).status,
  ).toBe(404);
  expect((await read({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' })).status).toBe(404);
  expect(seen).toHaveLength(0);
  expect(
    (await read({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' })).status,
  ).toBe(200);
});

// Case 5.
test('a WebSocket ends when its token expires or is voided, its key is revoked, or the port is closed', async () => {
  const { port } = await echo();
  const host = door.hostOf(port);
  const path = `/v1/sandboxes/${door.ports.id}/ports/${port}`;
  const live = async (token: string) => {
    const { socket } = await upgraded(upgradeRequest(host, '/', { 'X-Mayfly-Token': token }), 'first');
    return { socket, closed: once(socket, 'close') };
  };
  const brief = await live(await door.expose(port, {}, 2));
  const long = await live(await door.expose(port));
  await brief.closed;
  expect(long.socket.destroyed).toBe(false);
  const ended = async (change: () => Promise<Response>, { closed }: typeof long) => {
    expect((await change()).status).toBeLessThan(300);
    await closed;
  };
  await ended(() => door.ports.door.call('DELETE', `${path}/tokens`), long);
  const { key, secret } = await door.ports.door.store.apiKeys.create({
    project: 'default',
    name: 'brief',
    scopes: ['sandboxes:write'],
  });
  const issued = await door.ports.door.call('POST', `${path}/tokens`, {}, {}, secret);
  const ofKey = await live(((await issued.json()) as { token: string }).token);
  await ended(() => door.ports.door.call('DELETE', `/v1/keys/${key.id}`), ofKey);
  const last = await live(await door.expose(port));
  await ended(() => door.ports.door.call('DELETE', path), last);
});

test('a disconnect reaches the other end, on either side', async () => {
  const { port, sockets } = await echo();
  const token = await door.expose(port);
  const ask = () => upgraded(upgradeRequest(door.hostOf(port), '/', { 'X-Mayfly-Token': token }), 'first');
  const mine = await ask();
  const gone = new Promise((resolve) => sockets[0]?.once('close', resolve));
  mine.socket.resetAndDestroy();
  await gone;
  const theirs = await ask();
  const closed = once(theirs.socket, 'close');
  (sockets[1] as Duplex).destroy();
  await closed;
});

test('an upgrade that the program refuses, or to another protocol, is answered as a request', async () => {
  const { port, seen } = await echo();
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const headers = { 'X-Mayfly-Token': token };
  expect(await door.raw(upgradeRequest(host, '/refused', headers))).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*no$/);
  const h2c = {
    ...headers,
    Upgrade: 'h2c',
    Connection: 'Upgrade, HTTP2-Settings',
    'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
  };
  expect(await door.raw(upgradeRequest(host, '/h2c', h2c))).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*plain/);
  expect(seen.at(-1)?.headers).not.toHaveProperty('upgrade');
  expect(seen.at(-1)?.headers).not.toHaveProperty('http2-settings');
  const smuggled = upgradeRequest(host, '/h2c', { ...h2c, 'Content-Length': '30' });
  expect(await door.raw(`${smuggled}GET /admin HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
  expect(await door.raw(upgradeRequest(host, '/', {}))).toMatch(/^HTTP\/1\.1 404 /);
  expect(seen).toHaveLength(2);
});
