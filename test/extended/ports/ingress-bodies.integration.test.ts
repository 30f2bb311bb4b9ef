import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { Readable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { Traffic } from '../../../services/ingress/traffic.ts';
import type { IngressDoor } from '../../ports/ingress-door.ts';
import { usePrograms } from '../../ports/programs.ts';
import { stableValue } from '../../support/eventually.ts';
import { listen } from '../../support/listen.ts';

const MIB = 1_048_576;

let door: IngressDoor;
const programs = usePrograms((opened) => (door = opened));

// Case 3.
test('a line of an event stream arrives within 50 ms, uncompressed', async () => {
  let say = (_line: string) => {};
  const port = await programs.serve((_incoming, answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.flushHeaders();
    say = (line) => void answer.write(line);
  });
  const token = await door.expose(port);
  const headers = { 'x-mayfly-token': token, 'accept-encoding': 'gzip, br' };
  const answer = await door.ask(door.hostOf(port), '/', { headers });
  expect(answer.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  expect(answer.headers).not.toHaveProperty('content-encoding');
  for (let n = 0; n < 9; n++) {
    say(`data: ${n}\n\n`);
    const [chunk] = await once(answer, 'data');
    expect(String(chunk)).toBe(`data: ${n}\n\n`);
  }
  answer.destroy();
});

// Case 2: the whole GiB.
test('a slow reader stops the program, and memory use is flat', async () => {
  const bytes = 1_024 * MIB;
  let written = 0;
  const port = await programs.serve((_incoming, answer) => {
    answer.writeHead(200, { 'content-length': bytes });
    const chunk = Buffer.alloc(MIB, 'x');
    const content = function* () {
      for (; written < bytes; written += chunk.length) yield chunk;
    };
    Readable.from(content()).pipe(answer);
  });
  const token = await door.expose(port);
  const before = process.memoryUsage.rss();
  const answer = await door.ask(door.hostOf(port), '/', { headers: { 'x-mayfly-token': token } });
  answer.pause();
  expect(await stableValue(() => written)).toBeLessThan(64 * MIB);
  let read = 0;
  let most = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    read += chunk.length;
    if (read % MIB < chunk.length) most = Math.max(most, process.memoryUsage.rss());
  }
  expect(read).toBe(bytes);
  expect(most - before).toBeLessThan(160 * MIB);
});

// Case 2, the other way.
test('a program that reads slowly stops its caller', async () => {
  const port = await programs.serve(() => {}); // it reads nothing of the body
  const token = await door.expose(port);
  const socket = door.dial();
  const head = { Host: door.hostOf(port), 'X-Mayfly-Token': token, 'Content-Length': String(1_024 * MIB) };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`PUT / HTTP/1.1\r\n${lines.join('')}\r\n`);
  let taken = 0;
  const content = function* () {
    const chunk = Buffer.alloc(MIB);
    for (; taken < 96 * MIB; taken += MIB) yield chunk;
  };
  Readable.from(content()).pipe(socket);
  expect(await stableValue(() => taken)).toBeLessThan(64 * MIB);
  socket.destroy();
});

test('an upload arrives complete, and an early response is passed through', async () => {
  const port = await programs.serve(async (incoming, answer) => {
    if (incoming.url === '/early') return void answer.writeHead(413).end('too much');
    let got = 0;
    for await (const chunk of incoming as AsyncIterable<Buffer>) got += chunk.length;
    answer.end(String(got));
  });
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const body = Buffer.alloc(8 * MIB);
  const headers = { 'x-mayfly-token': token };
  expect((await door.get(host, '/', { method: 'PUT', headers }, body)).text).toBe(String(body.length));
  const chunked = { ...headers, 'transfer-encoding': 'chunked' };
  expect((await door.get(host, '/', { method: 'PUT', headers: chunked }, body)).text).toBe(String(body.length));
  expect(await door.get(host, '/early', { method: 'PUT', headers }, body)).toMatchObject({
    status: 413,
    text: 'too much',
  });
});

test('a closed port and one without HTTP are 502; programs on ::1 or all addresses are reached', async () => {
  const headers = async (port: number) => ({ headers: { 'x-mayfly-token': await door.expose(port) } });
  const closed = await door.get(door.hostOf(9), '/', await headers(9));
  expect(closed).toMatchObject({ status: 502, headers: { 'x-mayfly-code': 'port_closed' } });
  const rude = createTcpServer((socket) => socket.on('error', () => {}).end('SSH-2.0-x\r\n'));
  const odd = await listen(rude);
  expect(await door.get(door.hostOf(odd), '/', await headers(odd))).toMatchObject({
    status: 502,
    headers: { 'x-mayfly-code': 'port_failed' },
  });
  rude.close();
  for (const address of ['::1', '0.0.0.0', '::']) {
    const port = await programs.serve((_incoming, answer) => void answer.end(address), address);
    expect((await door.get(door.hostOf(port), '/', await headers(port))).text).toBe(address);
  }
});

test('headers of 32 KiB pass, longer ones are refused, both ways', async () => {
  const port = await programs.serve(({ url }, answer) => {
    if (url === '/long') answer.setHeader('x-long', 'x'.repeat(40_000));
    answer.end('ok');
  });
  const headers = { 'x-mayfly-token': await door.expose(port) };
  const host = door.hostOf(port);
  const long = (length: number) => door.get(host, '/', { headers: { ...headers, 'x-long': 'x'.repeat(length) } });
  expect((await long(31_000)).status).toBe(200);
  expect((await long(33_000)).status).toBe(431);
  expect((await door.get(host, '/long', { headers })).headers['x-mayfly-code']).toBe('port_failed');
});

test('a program that answers and closes before it has read everything is passed through', async () => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno');
      socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { 'x-mayfly-token': await door.expose(port), 'x-long': 'x'.repeat(31_000) };
  expect(await door.get(door.hostOf(port), '/', { headers })).toMatchObject({ status: 431, text: 'no' });
  server.close();
});

test("CORS headers are the program's, or Mayfly's alone", async () => {
  const port = await programs.serve((_incoming, answer) => {
    answer.setHeader('access-control-allow-origin', 'https://app.example');
    answer.setHeader('access-control-allow-credentials', 'true');
    answer.end('ok');
  });
  const token = await door.expose(port);
  const asked = {
    origin: 'https://app.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'x-mayfly-token',
  };
  const host = door.hostOf(port);
  const own = await door.get(host, '/', { headers: { ...asked, 'x-mayfly-token': token } });
  expect(own.headers).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    'access-control-allow-credentials': 'true',
  });
  expect((await door.get(host, '/', { method: 'OPTIONS', headers: asked })).status).toBe(404);

  const open = await programs.serve(
    (_incoming, answer) => void answer.setHeader('access-control-allow-origin', 'x').end('ok'),
  );
  const opened = await door.expose(open, { cors: true });
  const count = vi.spyOn(Traffic.prototype, 'count');
  const preflight = await door.get(door.hostOf(open), '/', { method: 'OPTIONS', headers: asked });
  expect(count).toHaveBeenCalledOnce();
  count.mockRestore();
  expect(preflight.status).toBe(204);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-headers': 'x-mayfly-token',
    'access-control-allow-methods': 'PUT',
  });
  const answer = await door.get(door.hostOf(open), '/', { headers: { ...asked, 'x-mayfly-token': opened } });
  expect(answer.headers['access-control-allow-origin']).toBe('*');
  expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
});
