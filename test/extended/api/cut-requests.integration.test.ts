import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApp } from '../../../api/app.ts';
import type { AppDeps } from '../../../api/http/context.ts';
import { apiServer } from '../../../api/server/api-server.ts';
import type { Store } from '../../../store/connect.ts';
import { openStore } from '../../support/open-store.ts';
import { startStoreServer } from '../../support/store-server.ts';

/** Promise: a client that leaves in the middle of its request is no failure of the API's, and no line on its stderr. Seconds. */
let server: ReturnType<typeof apiServer>;
let store: Store;
let stores: Awaited<ReturnType<typeof startStoreServer>>;
let key: string;
const lines: string[] = [];
const metrics = new Registry();
const JSON_TYPE = 'Content-Type: application/json';
beforeAll(async () => {
  stores = await startStoreServer();
  store = await openStore(stores.uri);
  key = (await store.apiKeys.create({ name: 'cut', scopes: ['admin'] })).secret;
  const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
  const deps = { store, sagas: {}, guests: {}, version: '0', logger, metrics };
  server = apiServer(createApp(deps as unknown as AppDeps), logger);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await store.close();
  await stores.stop();
});

it.each([
  ['/v1/sandboxes', 'Content-Length: 100', '{"a"'],
  ['/v1/sandboxes', 'Transfer-Encoding: chunked', '4\r\n{"a"\r\n'],
  ['/mcp', 'Content-Length: 100', '{"a"'],
  ['/mcp', 'Transfer-Encoding: chunked', '4\r\n{"a"\r\n'],
])('POST %s of which the end is cut (%s)', async (path, length, body) => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const coming = once(server, 'request') as Promise<[IncomingMessage]>;
  const head = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${key}`, JSON_TYPE, length];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const [incoming] = await coming;
  const cut = new Promise((resolve) => incoming.once('close', resolve));
  // What is there of its body is read, and the rest is waited for.
  await expect.poll(() => incoming.readableFlowing).toBe(true);
  socket.destroy();
  await cut;
  await expect.poll(() => metrics.metrics()).toContain(`route="${path}",status="408"`);
  expect(await metrics.metrics()).not.toMatch(/status="5\d\d"/);
  expect(lines).toEqual([]);
});
