import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTunnel } from '../../../api/ports/tunnel.ts';
import { IngressDoor } from '../../ports/ingress-door.ts';
import type { Forwarded } from '../../ports/port-door.ts';

const MIB = 1_048_576;
const FILE_BYTES = 64 * MIB;
const ROUNDS = 3;
const SMALL = 60;

let door: IngressDoor;
let program: Server;
let port: number;
let token: string;
let forward: Forwarded;

beforeAll(async () => {
  door = await IngressDoor.open();
  const file = Buffer.alloc(FILE_BYTES, 'x');
  program = createServer(({ url }, answer) => void answer.end(url === '/file' ? file : 'small'));
  program.listen(0, '127.0.0.1');
  await once(program, 'listening');
  port = (program.address() as AddressInfo).port;
  token = await door.expose(port);
  forward = await door.ports.forward(port);
});
afterAll(async () => {
  await forward?.end();
  program?.closeAllConnections();
  program?.close();
  await door?.close();
});

type Way = (path: string) => Promise<number>;

async function drained(stream: Duplex | IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) bytes += chunk.length;
  return bytes;
}

function spoken(stream: Duplex, path: string): Promise<number> {
  stream.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  return drained(stream);
}

/** The same program by its own port, by the relay alone, by a forwarded port, and by the door of open ports. */
const WAYS: Record<string, Way> = {
  direct: (path) => spoken(connect({ port, host: '127.0.0.1' }), path),
  relay: async (path) => {
    const { signal } = new AbortController();
    const target = { hostId: 'kvm-1', sandboxId: door.ports.id, port, signal };
    return spoken(await openTunnel(door.ports.agent.guests, target), path);
  },
  forward: (path) => spoken(connect({ port: forward.port, host: '127.0.0.1' }), path),
  ingress: async (path) => {
    const headers = { host: door.hostOf(port), 'x-mayfly-token': token, connection: 'close' };
    const asking = get({ port: door.listens, host: '127.0.0.1', path, headers, agent: false });
    return drained(((await once(asking, 'response')) as [IncomingMessage])[0]);
  },
};

const took = async (way: Way, path: string) => {
  const began = performance.now();
  const bytes = await way(path);
  const ms = performance.now() - began;
  expect(bytes).toBeGreaterThanOrEqual(path === '/file' ? FILE_BYTES : 'small'.length);
  return ms;
};
const medianOf = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN;

test('a file comes whole by each way, in turns; how fast, and what each adds to a small request, is printed', async () => {
  const none = () => Object.fromEntries(Object.keys(WAYS).map((name) => [name, [] as number[]]));
  const files = none();
  const smalls = none();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, way] of Object.entries(WAYS)) files[name]?.push(await took(way, '/file'));
  }
  for (let n = 0; n < SMALL; n++) {
    for (const [name, way] of Object.entries(WAYS)) smalls[name]?.push(await took(way, '/'));
  }
  const best = (name: string) => Math.min(...(files[name] ?? []));
  const small = (name: string) => medianOf(smalls[name] ?? []);
  for (const name of Object.keys(WAYS)) {
    const speed = (FILE_BYTES / MIB / best(name)) * 1_000;
    console.info(`${name}: ${speed.toFixed(0)} MiB/s, small ${small(name).toFixed(1)} ms`);
  }
});
