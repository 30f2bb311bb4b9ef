import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { apiServer } from '../../api/server/api-server.ts';
import { ERRORS } from '../../model/errors.ts';
import type { Problem } from '../../services/problems/problem.ts';
import { listen } from '../support/listen.ts';

/** Fake routes: `/held` answers on release, `/body` when its whole body has arrived. */
async function routes(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === '/held') await held.promise;
  if (pathname === '/body') {
    request.signal.addEventListener('abort', () => aborted.resolve());
    await request.arrayBuffer();
  }
  return new Response(`answer of ${pathname}`);
}

function gate() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

let held = gate();
let aborted = gate();
let server: ReturnType<typeof apiServer>;

beforeEach(async () => {
  held = gate();
  aborted = gate();
  server = apiServer({ fetch: routes }, pino({ level: 'silent' }));
  await listen(server);
});
afterEach(async () => {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
});

async function opened(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Reads everything until the server ends the connection. */
async function rest(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += chunk as string;
  return text;
}

async function said(...pieces: string[]): Promise<string> {
  const socket = await opened();
  for (const piece of pieces) socket.write(piece, 'latin1');
  return rest(socket);
}

/** Returns the only problem in an answer; asserts that it is well-formed and the last of its connection. */
function problemIn(text: string): Problem {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(/^Content-Type: application\/problem\+json$/im);
  expect(head).toMatch(/^Connection: close$/im);
  expect(head).toMatch(new RegExp(`^Content-Length: ${Buffer.byteLength(body)}$`, 'im'));
  const problem = JSON.parse(body) as Problem;
  const { status, title, remedy, retryable } = ERRORS[problem.code];
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(head).toMatch(new RegExp(`^X-Request-Id: ${problem.requestId}$`, 'im'));
  expect(head).toMatch(new RegExp(`^X-Mayfly-Code: ${problem.code}$`, 'im'));
  expect(problem).toMatchObject({ status, title, remedy, retryable, instance: `urn:uuid:${problem.requestId}` });
  return problem;
}

const HOST = 'Host: x\r\n';

test.each([
  ['malformed_request', '\u0000\u0001<script>\r\n\r\n'],
  ['malformed_request', `GET / HTTP/9.9\r\n${HOST}\r\n`],
  ['malformed_request', `GET relative HTTP/1.1\r\n${HOST}\r\n`],
  ['malformed_request', `GET http://x:99999/ HTTP/1.1\r\n${HOST}\r\n`],
  ['malformed_request', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`],
  ['malformed_request', `POST / HTTP/1.1\r\n${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc`],
  ['malformed_request', 'GET / HTTP/1.1\r\n\r\n'],
  ['malformed_request', 'GET / HTTP/1.1\r\nHost: a b@/x\r\n\r\n'],
  ['expectation_failed', `POST / HTTP/1.1\r\n${HOST}Expect: tea\r\nContent-Length: 9\r\n\r\nabc`],
  ['method_not_allowed', `CONNECT x:1 HTTP/1.1\r\n${HOST}\r\n`],
])('%s is a problem, and the last answer: %j', async (code, bytes) => {
  const text = await said(bytes);
  expect(problemIn(text).code).toBe(code);
  expect(text).not.toContain('script');
  if (code === 'method_not_allowed') expect(text).toMatch(/^Allow: $/m);
});

test('oversized headers are refused, in the URL and in a field', async () => {
  const long = 'a'.repeat(20_000);
  for (const bytes of [`GET / HTTP/1.1\r\n${HOST}A: ${long}\r\n\r\n`, `GET /${long} HTTP/1.1\r\n${HOST}\r\n`]) {
    expect(problemIn(await said(bytes)).code).toBe('headers_too_large');
  }
});

test('a client that sends endless headers can still read why they are too large', async () => {
  const pieces = Array.from({ length: 200 }, () => `A: ${'a'.repeat(1_000)}\r\n`);
  expect(problemIn(await said(`GET / HTTP/1.1\r\n${HOST}`, ...pieces)).code).toBe('headers_too_large');
});

test('a client that is too slow gets a retryable timeout', async () => {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = await opened();
  // Node checks timeouts only every 30 s; emitting the event avoids the wait.
  server.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), (await accepted)[0]);
  const text = await rest(socket);
  expect(problemIn(text).code).toBe('request_timeout');
  expect(text).toMatch(/^Retry-After: \d+$/m);
});

test('garbage after a request does not replace its answer', async () => {
  const socket = await opened();
  socket.write(`GET /held HTTP/1.1\r\n${HOST}\r\n`);
  const refused = once(server, 'clientError');
  socket.write('garbage\r\n\r\n');
  await refused;
  for (let n = 0; n < 20; n++) socket.write('more\r\n\r\n');
  held.resolve();
  const text = await rest(socket);
  const second = text.indexOf('HTTP/1.1 400');
  expect(text.slice(0, second)).toMatch(/^HTTP\/1\.1 200 .*answer of \/held/s);
  expect(problemIn(text.slice(second)).code).toBe('malformed_request');
});

test('a malformed body fails its own request, which ends', async () => {
  const text = await said(
    `POST /body HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
    'not a length\r\n\r\n',
  );
  expect(problemIn(text).code).toBe('malformed_request');
  await aborted.promise;
});

test('a client that disconnects midway does no harm', async () => {
  for (const bytes of [
    'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'garbage\r\n\r\n',
    `GET /held HTTP/1.1\r\n${HOST}\r\nx`,
  ]) {
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const socket = await opened();
    const [theirs] = await accepted;
    const closed = new Promise((resolve) => theirs.once('close', resolve)); // `once` would throw its ECONNRESET
    socket.write(bytes);
    socket.resetAndDestroy();
    await closed;
  }
  held.resolve();
  expect(await said(`GET /next HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)).toContain('answer of /next');
});

test("an upload may take longer than Node's 300 s request limit; its headers may not", () => {
  expect(server.requestTimeout).toBe(0);
  expect(server.headersTimeout).toBeGreaterThan(0);
});

// 0.4 s. Guards: a client that sends half a body, with or without a key, holds no connection.
test('a stalled body is refused, a file may be slow, and the rest of an answered body is not awaited', async () => {
  const slow = apiServer({ fetch: routes }, pino({ level: 'silent' }), { bodyMs: 100 });
  const port = await listen(slow);
  const half = async (path: string) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`PUT ${path} HTTP/1.1\r\n${HOST}Content-Length: 10\r\n\r\nabc`);
    return socket;
  };
  expect(await rest(await half('/body'))).toContain('"code":"request_timeout"');
  const file = await half('/v1/sandboxes/x/files/body');
  expect(await rest(file)).toContain('answer of /v1/sandboxes/x/files/body'); // then the connection ends
  slow.close();
  slow.closeAllConnections();
});
