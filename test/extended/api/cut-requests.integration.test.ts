import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { createApp } from '../../../api/app.ts';
import type { AppDeps } from '../../../api/http/context.ts';
import { apiServer } from '../../../api/server/api-server.ts';
import { MayflyError } from '../../../model/errors.ts';
import { buildTar } from '../../../model/image/tar.ts';
import { DEFAULT_PROJECT } from '../../../model/project.ts';
import type { Store } from '../../../store/connect.ts';
import { PIECE_BYTES, PIECES_ANNOUNCED } from '../../../store/images/sent-contexts.ts';
import { listen } from '../../support/listen.ts';
import { openStore } from '../../support/open-store.ts';
import { startStoreServer } from '../../support/store-server.ts';

let server: ReturnType<typeof apiServer>;
let store: Store;
let stores: Awaited<ReturnType<typeof startStoreServer>>;
let key: string;
const lines: string[] = [];
const metrics = new Registry();
beforeAll(async () => {
  stores = await startStoreServer();
  store = await openStore(stores.uri);
  key = (await store.apiKeys.create({ project: 'default', name: 'cut', scopes: ['admin'] })).secret;
  const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
  const deps = { store, sagas: {}, guests: {}, version: '0', logger, metrics };
  server = apiServer(createApp(deps as unknown as AppDeps), logger);
  await listen(server);
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await store.close();
  await stores.stop();
});

const port = () => (server.address() as AddressInfo).port;

/** Promise: a client that disconnects during its request causes no API failure, and no line on stderr. Seconds. */
const JSON_TYPE = 'Content-Type: application/json';

it.each([
  ['/v1/sandboxes', 'Content-Length: 100', '{"a"'],
  ['/v1/sandboxes', 'Transfer-Encoding: chunked', '4\r\n{"a"\r\n'],
  ['/mcp', 'Content-Length: 100', '{"a"'],
  ['/mcp', 'Transfer-Encoding: chunked', '4\r\n{"a"\r\n'],
])('a POST %s that is cut off causes no error (%s)', async (route, length, body) => {
  const socket = connect(port(), '127.0.0.1');
  const coming = once(server, 'request') as Promise<[IncomingMessage]>;
  const head = [`POST ${route} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${key}`, JSON_TYPE, length];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const [incoming] = await coming;
  const cut = new Promise((resolve) => incoming.once('close', resolve));
  // The received part of the body is read, and the rest is awaited.
  await expect.poll(() => incoming.readableFlowing).toBe(true);
  socket.destroy();
  await cut;
  await expect.poll(() => metrics.metrics()).toContain(`route="${route}",status="408"`);
  expect(await metrics.metrics()).not.toMatch(/status="5\d\d"/);
  expect(lines).toEqual([]);
});

/** Promise: an upload of a context counts while it runs, and not after it is cut off, for any cause. Seconds. */
const counted = () => store.sentContexts.bytesOf(DEFAULT_PROJECT);
const archive = buildTar([
  { path: 'large', type: 'file', mode: 0o644, bytes: randomBytes(3 * PIECE_BYTES), link: null },
]);
const digest = createHash('sha256').update(archive).digest('hex');
const path = `/v1/image-contexts/${digest}`;

it.each([0, 1, 511, 512, PIECE_BYTES, 2 * PIECE_BYTES + 3, archive.length - 1])(
  'an upload cut at byte %i leaves no residue',
  async (bytes) => {
    const begin = vi.spyOn(store.sentContexts, 'begin');
    const remove = vi.spyOn(store.sentContexts, 'remove');
    const socket = connect(port(), '127.0.0.1');
    const head = `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/x-tar\r\n`;
    socket.write(`${head}Content-Length: ${archive.length}\r\n\r\n`);
    await expect.poll(() => begin).toHaveBeenCalledOnce();
    await new Promise((resolve) => socket.write(archive.subarray(0, bytes), resolve));
    socket.destroy();
    await expect.poll(() => remove).toHaveBeenCalledOnce();
    await remove.mock.results[0]?.value;
    expect(await counted()).toBe(0);
    expect(await store.sentContexts.use(DEFAULT_PROJECT, digest)).toBeNull();
  },
);

it('a store failure during an upload is reported, leaves no residue, and the upload can be repeated', async () => {
  const put = store.sentContexts.put.bind(store.sentContexts);
  vi.spyOn(store.sentContexts, 'put').mockImplementation(async (id, n, bytes) => {
    if (n === 1) throw new MayflyError('store_unavailable', 'away');
    await put(id, n, bytes);
  });
  const send = () =>
    fetch(`http://127.0.0.1:${port()}${path}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-tar', Connection: 'close' },
      body: Buffer.from(archive),
    });
  const failed = await send();
  expect([failed.status, failed.headers.get('X-Mayfly-Code')]).toEqual([503, 'store_unavailable']);
  expect(await counted()).toBe(0);
  vi.restoreAllMocks();
  expect((await send()).status).toBe(201);
  expect(await counted()).toBe(archive.length);
});

it('a partial upload of a dead API is found soon; a client that continues it gets an error, and leaves no residue', async () => {
  const { sentContexts } = store;
  const piece = randomBytes(PIECE_BYTES);
  const id = await sentContexts.begin('half', digest);
  for (let n = 0; n < PIECES_ANNOUNCED; n++) await sentContexts.put(id, n, piece);
  expect(await sentContexts.bytesOf('half')).toBe(PIECES_ANNOUNCED * PIECE_BYTES);
  const soon = new Date(Date.now() + 1_000);
  expect((await sentContexts.unused(soon, true)).map((each) => each.id)).toEqual([id]);
  await sentContexts.remove(id, soon);
  expect(await sentContexts.bytesOf('half')).toBe(0);
  const forgotten = { code: 'context_not_found' };
  await expect(sentContexts.put(id, PIECES_ANNOUNCED, piece)).rejects.toMatchObject(forgotten);
  const whole = { context: { entries: [], dockerignore: '' }, bytes: PIECES_ANNOUNCED * PIECE_BYTES };
  await expect(sentContexts.complete(id, whole)).rejects.toMatchObject(forgotten);
  await expect(sentContexts.read(id, 0, 1).next()).rejects.toThrow('is missing');
});
