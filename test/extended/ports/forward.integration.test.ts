import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { type Forwarded, PortDoor } from '../../ports/port-door.ts';
import { stableValue } from '../../support/eventually.ts';
import { listen } from '../../support/listen.ts';

const MIB = 1_048_576;
let door: PortDoor;
const servers: Server[] = [];
const forwards: Forwarded[] = [];

beforeAll(async () => {
  door = await PortDoor.open();
});
afterAll(() => door?.close());
afterEach(async () => {
  for (const forward of forwards.splice(0)) await forward.end();
  for (const server of servers.splice(0)) server.close();
});

/** Starts a program of the sandbox. */
async function program(serve: (socket: Socket) => unknown, address = '127.0.0.1'): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    serve(socket);
  });
  servers.push(server);
  return listen(server, address);
}

async function forward(port: number): Promise<Forwarded> {
  const begun = await door.forward(port);
  forwards.push(begun);
  return begun;
}

function dialled({ port }: Forwarded): Socket {
  return connect({ port, host: '127.0.0.1', allowHalfOpen: true });
}

/** Reads the other side until its end, and keeps this side open. */
async function heard(socket: Socket): Promise<string> {
  let said = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) said += String(chunk);
  return said;
}

test('each side can end its own direction first', async () => {
  const all: Promise<string>[] = [];
  const first = await program((socket) => {
    socket.end('hello');
    all.push(heard(socket));
  });
  const socket = dialled(await forward(first));
  expect(await heard(socket)).toBe('hello');
  socket.end('and now I');
  expect(await all[0]).toBe('and now I');

  const last = await program((socket) => void heard(socket).then((said) => socket.end(said.toUpperCase())));
  const second = dialled(await forward(last));
  second.end('ask first');
  expect(await text(second)).toBe('ASK FIRST');
});

test('64 MiB each way at once arrive complete', async () => {
  const port = await program((socket) => socket.pipe(socket));
  const socket = dialled(await forward(port));
  const part = Buffer.from(Array.from({ length: 65_536 }, (_, n) => n % 251));
  void (async () => {
    for (let n = 0; n < 1_024; n++) if (!socket.write(part)) await once(socket, 'drain');
    socket.end();
  })();
  const all = await buffer(socket);
  expect(all.length).toBe(64 * MIB);
  for (let n = 0; n < 1_024; n += 97) expect(all.subarray(n * 65_536, (n + 1) * 65_536).equals(part)).toBe(true);
});

test('a slow reader stops the other end, both ways, and memory use is flat', async () => {
  let written = 0;
  const chunk = Buffer.alloc(65_536);
  const port = await program(async (socket) => {
    while (!socket.destroyed && written < 512 * MIB) {
      written += chunk.length;
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
    }
  });
  const before = process.memoryUsage().rss;
  const slow = dialled(await forward(port));
  slow.pause();
  expect(await stableValue(() => written)).toBeLessThan(64 * MIB);
  slow.destroy();

  const sockets: Socket[] = [];
  const deaf = await program((socket) => sockets.push(socket.pause()));
  const eager = dialled(await forward(deaf));
  let sent = 0;
  void (async () => {
    while (!eager.destroyed && sent < 512 * MIB) {
      sent += chunk.length;
      if (!eager.write(chunk)) await Promise.race([once(eager, 'drain'), once(eager, 'close')]).catch(() => {});
    }
  })();
  expect(await stableValue(() => sent)).toBeLessThan(64 * MIB);
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * MIB);
  eager.destroy();
  for (const socket of sockets) socket.destroy();
});

test('a connection that is reset is reset at the other end, never ended', async () => {
  const ended: string[] = [];
  const port = await program((socket) => {
    socket.on('end', () => ended.push('end'));
    socket.on('error', ({ message }) => ended.push(message));
    socket.write('half');
  });
  const leads = await forward(port);
  const mine = dialled(leads);
  await once(mine, 'data');
  mine.resetAndDestroy();
  await expect.poll(() => ended).toEqual([expect.stringContaining('ECONNRESET')]);

  const others: Socket[] = [];
  const gone = await program((socket) => {
    others.push(socket);
    socket.write('half');
  });
  const cut = dialled(await forward(gone));
  await once(cut, 'data');
  const rest = expect(text(cut)).rejects.toThrow('ECONNRESET');
  others[0]?.resetAndDestroy();
  await rest;
});

test('a quiet connection stays open longer than a request may take to arrive', async () => {
  const port = await program((socket) => socket.pipe(socket));
  const socket = dialled(await forward(port));
  const unfinished = connect(Number(new URL(door.url).port), '127.0.0.1');
  const head = `Host: localhost\r\nAuthorization: Bearer ${door.key}\r\nContent-Type: application/json\r\nContent-Length: 10`;
  unfinished.write(`POST /v1/sandboxes HTTP/1.1\r\n${head}\r\n\r\nabc`);
  expect(await text(unfinished)).toContain('"code":"request_timeout"'); // the API of this test waits that long for a body
  socket.end('still here');
  expect(await text(socket)).toBe('still here');
});

test('a closed port is reported, port 22 and invalid ones are refused, and the audit has each key and port once', async () => {
  const port = await program((socket) => socket.end('x'));
  const leads = await forward(port);
  for (let n = 0; n < 3; n++) expect(await text(dialled(leads))).toBe('x');
  const { items } = await door.client.sandboxAudit(door.id, { limit: 200 });
  const told = items.map(({ body }) => JSON.parse(body) as AuditEvent).filter(({ kind }) => kind === 'port.connected');
  expect(told.filter(({ detail }) => detail['port'] === port)).toHaveLength(1);

  const closed = await forward(9);
  await expect(text(dialled(closed))).rejects.toThrow('ECONNRESET');
  await expect.poll(() => closed.err()).toContain('Port 9 of 127.0.0.1 and ::1: connection refused.');

  const connectAt = (where: string) => door.door.call('POST', `/v1/sandboxes/${door.id}/ports/${where}/connect`);
  expect((await connectAt('22')).headers.get('x-mayfly-code')).toBe('port_refused');
  for (const bad of ['0', '65536', 'ssh', '80%0a']) expect((await connectAt(bad)).status).toBe(422);
});

test('101 connections are one too many, for that port alone, and ended ones free their slots', async () => {
  const port = await program((socket) => socket.write('here'));
  const held = await Promise.all(
    Array.from({ length: LIMITS.ports.connections }, async () => {
      const stop = new AbortController();
      const answer = await door.client.ports.connect(door.id, port, new ReadableStream(), { signal: stop.signal });
      return { stop, answer };
    }),
  );
  const more = () => door.client.ports.connect(door.id, port, new ReadableStream());
  await expect(more()).rejects.toMatchObject({ code: 'too_many_requests' });
  const other = await program((socket) => socket.end('other'));
  expect(await text(dialled(await forward(other)))).toBe('other');
  for (const { stop } of held) stop.abort(new Error('enough'));
  await expect
    .poll(() => door.client.ports.connect(door.id, port, ReadableStream.from([])).then(() => 'open'))
    .toBe('open');
});
