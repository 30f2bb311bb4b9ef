import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MayflyClient } from '../../../../clients/typescript/mayfly-client.ts';
import { ID } from '../../../clients/typescript/records.ts';
import { listen } from '../../../support/listen.ts';
import { letTimePass } from '../../../support/passage-of-time.ts';

const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
/** Replaces 300 s. undici's clock has a resolution of half a second. */
const HEADERS_TIMEOUT_MS = 1_000;
/** Number of chunks, each read in 40 ms, so that the upload lasts three times the timeout. */
const CHUNKS = 80;

beforeEach(async () => {
  await fetch('data:,').then((response) => response.text());
  const before: object = Reflect.get(globalThis, DISPATCHER);
  Reflect.set(
    globalThis,
    DISPATCHER,
    Reflect.construct(before.constructor as typeof Object, [{ headersTimeout: HEADERS_TIMEOUT_MS }]),
  );
  return () => Reflect.set(globalThis, DISPATCHER, before);
});

const server = createServer();
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function takeSlowly(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    await letTimePass(40);
  }
  response.end(JSON.stringify({ size }));
}

test('a slow upload does not time out', async () => {
  server.on('request', (request, response) => void takeSlowly(request, response));
  await listen(server);
  const client = new MayflyClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'k',
  });
  let left = CHUNKS;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(65_536));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  await expect(client.files.write(ID, '/tmp/large', body)).resolves.toEqual({ size: CHUNKS * 65_536 });
});
