import { once } from 'node:events';
import { Readable } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AgentRequest, AgentResponse } from '../../host/guest/agent-session.ts';
import { RelayClient } from '../../host/relay/client.ts';
import { answerJson, type Route } from '../../host/relay/exchange.ts';
import { sandboxAgentRoute } from '../../host/relay/sandbox-agent.ts';
import { type Relay, startRelay } from '../../host/relay/server.ts';
import { IDENTITY, makeRelayKey, TLS } from '../../host/relay/tls.ts';
import { MayflyError } from '../../model/errors.ts';
import { toGuestError } from '../../services/guests.ts';
import type { Store } from '../../store/connect.ts';
import { stableValue } from '../support/eventually.ts';
import { useStore } from '../support/use-store.ts';

const MIB = 1_048_576;
let store: Store;
let client: RelayClient;
const opened: Relay[] = [];

useStore((all) => {
  store = all.store;
  client = new RelayClient(store);
});
afterAll(() => client?.close());
afterEach(async () => {
  for (const relay of opened.splice(0)) await relay.close();
});

async function announce(routes: Record<string, Route>, port = 0, host = 'kvm-1'): Promise<Relay> {
  const relay = await startRelay({ address: '127.0.0.1', port, routes, logger: pino({ level: 'silent' }) });
  opened.push(relay);
  await store.relays.announce(host, { url: relay.url, key: relay.key.toString('hex') });
  return relay;
}

const hello: Route = async ({ response, segments, method }) => answerJson(response, 200, { method, segments });

function openTls(relay: Relay, key: Buffer | null): Promise<TLSSocket> {
  const socket = connectTls({
    ...TLS,
    port: Number(new URL(relay.url).port),
    host: '127.0.0.1',
    checkServerIdentity: () => undefined,
    ...(key && { pskCallback: () => ({ psk: key, identity: IDENTITY }) }),
  });
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

test('only a client with the key of this start is admitted, and a client speaks only to a server with it', async () => {
  const relay = await announce({ hello });
  await expect(openTls(relay, null)).rejects.toThrow();
  await expect(openTls(relay, makeRelayKey())).rejects.toThrow();
  const socket = await openTls(relay, relay.key);
  expect(socket.getProtocol()).toBe('TLSv1.3');
  socket.destroy();

  const impostor = await startRelay({
    address: '127.0.0.1',
    port: 0,
    routes: { hello },
    logger: pino({ level: 'silent' }),
  });
  opened.push(impostor);
  await store.relays.announce('kvm-2', { url: impostor.url, key: relay.key.toString('hex') });
  await expect(client.request('kvm-2', '/hello')).rejects.toMatchObject({ code: 'host_unavailable' });
});

test('the store never returns a key with a host', async () => {
  const { key } = await announce({ hello });
  expect(JSON.stringify(await store.hosts.list())).not.toContain(key.toString('hex'));
});

test('a restarted worker is found at its new address, and a stopped one is reported', async () => {
  const first = await announce({ hello });
  expect((await client.request('kvm-1', '/hello/a%2Fb')).status).toBe(200);
  await first.close();
  await announce({ hello });
  const answer = await client.request('kvm-1', '/hello/a%2Fb', { method: 'POST', body: new Uint8Array(3) });
  expect(await answer.json()).toEqual({ method: 'POST', segments: ['a/b'] });
  await opened.at(-1)?.close();
  const gone = client.request('kvm-1', '/hello');
  await expect(gone).rejects.toMatchObject({ code: 'host_unavailable' });
  await expect(gone).rejects.toThrow(/host kvm-1 cannot be reached.*mayfly serve host/);
  await expect(client.request('kvm-9', '/hello')).rejects.toThrow(
    /has not said where its relay is; it was never heard of/,
  );
});

test('refusals are errors of the table on the other side; unknown paths are refused', async () => {
  await announce({
    busy: () => Promise.reject(new MayflyError('too_many_requests', 'Sixty-four run.', { retryAfterSeconds: 7 })),
    broken: () => Promise.reject(new Error('secret words')),
    hello,
  });
  const busy = await client.request('kvm-1', '/busy', { method: 'POST' });
  expect(busy.status).toBe(429);
  expect(await toGuestError(busy)).toMatchObject({ code: 'too_many_requests', options: { retryAfterSeconds: 7 } });
  const broken = await client.request('kvm-1', '/broken');
  expect(broken.status).toBe(500);
  expect(await broken.text()).not.toContain('secret');
  for (const path of ['/nothing', '/constructor', '/', '/hello/%ff', '//hello']) {
    expect((await client.request('kvm-1', path)).status).toBe(404);
  }
  const head = await client.request('kvm-1', '/busy', { method: 'HEAD' });
  expect([head.status, head.headers.get('x-mayfly-code')]).toEqual([429, 'too_many_requests']);
});

test('256 MiB in each direction take no memory, and a stopped reader stops the writer', async () => {
  let taken = 0;
  let written = 0;
  await announce({
    async up({ request, response }) {
      for await (const chunk of request as AsyncIterable<Buffer>) taken += chunk.length;
      answerJson(response, 200, { taken });
    },
    async down({ response, signal }) {
      const chunk = Buffer.alloc(65_536);
      for (let i = 0; i < 4_096 && !signal.aborted; i++) {
        written += chunk.length;
        if (!response.write(chunk)) await once(response, 'drain', { signal });
      }
      response.end();
    },
  });
  const before = process.memoryUsage().rss;
  let peak = 0;
  let made = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        peak = Math.max(peak, process.memoryUsage().rss);
        if (made++ < 4_096) controller.enqueue(new Uint8Array(65_536));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  expect(await (await client.request('kvm-1', '/up', { method: 'PUT', body })).json()).toEqual({ taken: 256 * MIB });

  let got = 0;
  const whole = await client.request('kvm-1', '/down');
  for await (const chunk of whole.body ?? []) {
    got += chunk.length;
    peak = Math.max(peak, process.memoryUsage().rss);
  }
  expect(got).toBe(256 * MIB);
  expect(peak - before).toBeLessThan(100 * MIB);

  written = 0;
  const slow = await client.request('kvm-1', '/down');
  const reader = slow.body?.getReader();
  await reader?.read();
  expect(await stableValue(() => written)).toBeLessThan(32 * MIB);
  await reader?.cancel();
});

test('a disconnect or abort of the API reaches the other end; a truncated answer is an error', async () => {
  const told: string[] = [];
  let begun = () => {};
  const running = () => new Promise<void>((resolve) => (begun = resolve));
  await announce({
    async wait({ response, signal }) {
      response.writeHead(200).flushHeaders();
      begun();
      await once(signal, 'abort');
      told.push('gone');
    },
    async half({ response }) {
      response.writeHead(200, { 'Content-Length': 100 });
      response.write('half');
      throw new Error('the guest is gone');
    },
  });
  const stop = new AbortController();
  const started = running();
  const waiting = await client.request('kvm-1', '/wait', { signal: stop.signal });
  await started;
  stop.abort(new Error('enough'));
  await expect(waiting.text()).rejects.toThrow();
  await expect.poll(() => told).toEqual(['gone']);
  const half = await client.request('kvm-1', '/half');
  await expect(half.text()).rejects.toThrow();
});

test('endless headers and other protocols are refused', async () => {
  const relay = await announce({ hello });
  const large = await client.request('kvm-1', '/hello', { headers: { 'x-mayfly-much': 'a'.repeat(40_000) } });
  expect(large.status).toBe(431);
  const socket = await openTls(relay, relay.key);
  socket.write('SSH-2.0-OpenSSH_9.2\r\n\r\n');
  const [answer]: [Buffer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 400/);
  socket.destroy();
});

describe('answers of a hostile guest through its agent', () => {
  const id = 'sbx-0123456789abcdef';
  const file = `/sandboxes/${id}/agent/v1/files?path=eA`;
  let answer: AgentResponse;
  const asked: AgentRequest[] = [];

  beforeEach(async () => {
    asked.length = 0;
    const agent = {
      request: (request: AgentRequest) => {
        asked.push(request);
        return Promise.resolve(answer);
      },
    };
    await announce({ sandboxes: sandboxAgentRoute({ agent: () => Promise.resolve(agent) }) });
  });
  const says = (status: number, headers: Record<string, string>, ...body: (string | Buffer)[]) => {
    answer = { status, headers, body: Readable.from(body.map((part) => Buffer.from(part))) };
  };
  const refusal = async () => toGuestError(await client.request('kvm-1', file));

  test('only paths of its API are requested, with only the headers used there', async () => {
    says(200, {}, 'x');
    const headers = { range: 'bytes=0-', cookie: 'a', te: 'trailers' };
    await (await client.request('kvm-1', file, { headers })).text();
    expect(asked).toMatchObject([{ method: 'GET', path: '/v1/files?path=eA', headers: { range: 'bytes=0-' } }]);
    expect(Object.keys(asked[0]?.headers ?? {})).toEqual(['range']);
    const others = ['commands/cmd-0123456789abcdef', 'files%2f..%2ftrust', 'nothing'];
    for (const path of others.map((other) => `/sandboxes/${id}/agent/v1/${other}`)) {
      expect((await client.request('kvm-1', path, { method: 'PUT' })).status).toBe(404);
    }
    expect((await client.request('kvm-1', '/sandboxes/sbx-1/agent/v1/files')).status).toBe(404);
    expect((await client.request('kvm-1', file, { method: 'POST' })).status).toBe(405);
    expect(asked).toHaveLength(1);
  });

  test('headers that are not text, or not of an answer, are dropped', async () => {
    says(200, { 'x-mayfly-owner': 'a\u0001b', 'set-cookie': 'a=b', 'x-mayfly-mode': '0644', connection: 'close' }, 'x');
    const through = await client.request('kvm-1', file);
    expect(await through.text()).toBe('x');
    expect([...through.headers.keys()].sort()).toEqual(['x-mayfly-mode']);
  });

  test('a body shorter or longer than its length is cut off, and does not spill into the next answer', async () => {
    says(200, { 'content-length': '10' }, 'short');
    await expect((await client.request('kvm-1', file)).text()).rejects.toThrow();
    says(200, { 'content-length': '5' }, 'hello', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await expect((await client.request('kvm-1', file)).text()).rejects.toThrow();
    says(200, {}, 'whole');
    expect(await (await client.request('kvm-1', file)).text()).toBe('whole');
  });

  test('a nonsensical answer is a failure of the guest, never a refusal of the API', async () => {
    const reasons = [
      [99, ''],
      [0, ''],
      [400, 'not json'],
      [401, '{"code":"unauthenticated","message":"log in again"}'],
      [500, '{"code":"internal","message":"boom"}'],
      [404, '{"code":"__proto__","message":"x"}'],
    ] as const;
    for (const [status, body] of reasons) {
      says(status, {}, body);
      expect(await refusal()).toMatchObject({ code: 'guest_failed' });
    }
    for (const code of ['sandbox_not_found', 'store_unavailable', 'internal', 'x']) {
      says(404, { 'x-mayfly-code': code });
      const head = await client.request('kvm-1', file, { method: 'HEAD' });
      expect(await toGuestError(head)).toMatchObject({ code: 'guest_failed' });
    }
    says(404, { 'x-mayfly-code': 'file_not_found' });
    const absent = await client.request('kvm-1', file, { method: 'HEAD' });
    expect(await toGuestError(absent)).toMatchObject({ code: 'file_not_found' });
    says(500, {}, ...Array.from({ length: 100 }, () => Buffer.alloc(65_536, 'x')));
    expect(await refusal()).toMatchObject({ code: 'guest_failed' });
    says(404, {}, JSON.stringify({ code: 'file_not_found', message: `no\u001b[31m such file${'!'.repeat(5_000)}` }));
    const honest = await refusal();
    expect(honest).toMatchObject({ code: 'file_not_found' });
    expect(honest.message).toMatch(/^no \[31m such file!+$/);
    expect(honest.message.length).toBeLessThanOrEqual(1_000);
  });
});
