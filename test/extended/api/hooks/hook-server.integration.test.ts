import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { OpenAPIHono } from '@hono/zod-openapi';
import { requestId } from 'hono/request-id';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../../../api/app.ts';
import { hookEndpointRoutes } from '../../../../api/hooks/hook-door.ts';
import type { Env } from '../../../../api/http/context.ts';
import { errorHandler } from '../../../../api/http/problem.ts';
import { apiServer } from '../../../../api/server/api-server.ts';
import { HookEndpoint } from '../../../../services/hooks/hook-door.ts';
import { EventIntake } from '../../../../services/intake/acceptance.ts';
import { InputSchemas } from '../../../../services/schema/input-schemas.ts';
import type { Header } from '../../../../services/webhooks/signing/verdict.ts';
import type { Hooks } from '../../../../store/functions/hooks.ts';
import type { Runs } from '../../../../store/functions/runs.ts';
import { githubHeaders, said, useHooks } from '../../../api/hooks/use-hooks.ts';
import { immediateSagas } from '../../../api/immediate-sagas.ts';
import { noGuests } from '../../../api/support.ts';
import { listen } from '../../../support/listen.ts';
import { openStore } from '../../../support/open-store.ts';
import { startStoreServer } from '../../../support/store-server.ts';
import { HANGS_AFTER_MS } from '../../../support/test-timeouts.ts';

/** Promise: over HTTP a hook limits size, time and rate; it answers the handshake, and no other method. Seconds. */
const { door, deploy, make } = useHooks();
const logger = pino({ level: 'silent' });
const SMALL = { bodyBytes: 64, heldBytes: 100, requestsPerSecond: 3, answerMs: 1_000, checkMs: HANGS_AFTER_MS };
const BODY = '{}';
let whole: Server;
let small: Server;

/** Creates an app with the hook endpoint alone. */
function alone(store = door().store, limits = SMALL, schemas = new InputSchemas()): OpenAPIHono<Env> {
  const app = new OpenAPIHono<Env>();
  const { sagas } = door();
  app.use(requestId());
  app.onError(errorHandler({ logger }));
  const acceptance = new EventIntake({ sagas, logger }, schemas);
  hookEndpointRoutes(app, { store, logger }, acceptance, new HookEndpoint({ store, logger }, acceptance, limits));
  return app;
}

async function listening(app: Pick<OpenAPIHono<Env>, 'fetch'>, bodyMs?: number): Promise<Server> {
  const server = apiServer(app as Parameters<typeof apiServer>[0], logger, bodyMs === undefined ? {} : { bodyMs });
  await listen(server);
  return server;
}
const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  whole = await listening(door().app);
  small = await listening(alone(), 300);
});
afterAll(() => {
  for (const server of [whole, small]) server?.close();
});

interface Sent {
  method?: string;
  headers?: readonly Header[];
  /** Body in chunks, without a length. */
  chunks?: readonly (string | Uint8Array)[];
  isEnded?: boolean;
}

/** Sends by Node's own client, which keeps headers as given, also duplicates. */
async function send(
  server: Server,
  path: string,
  { method = 'POST', headers = [], chunks = [BODY], isEnded = true }: Sent,
) {
  const raw = [['Host', 'localhost'], ...headers, ['Transfer-Encoding', 'chunked'], ['Connection', 'close']].flat();
  const outgoing = request({ port: portOf(server), host: '127.0.0.1', path, method, headers: raw });
  outgoing.on('error', () => {}); // an answer may precede the end of the request
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  for (const chunk of chunks) outgoing.write(chunk);
  if (isEnded) outgoing.end();
  const [response] = await answered;
  let text = '';
  for await (const piece of response) text += String(piece);
  outgoing.destroy();
  return { status: response.statusCode, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}

test('35: of two headers of one name the valid signature is accepted', async () => {
  const hook = await make();
  const [id, signature, ...more] = githubHeaders(BODY);
  if (!id || !signature) throw new Error('it is not signed');
  const wrong: Header = [signature[0], `sha256=${'0'.repeat(64)}`];
  const upper: Header = [signature[0], signature[1].replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase())];
  for (const [n, signatures] of [
    [wrong, signature],
    [signature, wrong],
    [wrong, upper],
    [wrong, wrong],
  ].entries()) {
    const { status } = await send(whole, hook.path, { headers: [[id[0], `two-${n}`], ...signatures, ...more] });
    expect([n, status]).toEqual([n, n === 3 ? 401 : 202]);
  }
});

describe('38: a body', () => {
  test('of 25 MiB in chunks, without a length, is accepted', async () => {
    const name = await deploy({ input: { maxBytes: 26_214_400 } });
    const hook = await make({ function: name });
    const body = Buffer.from(JSON.stringify({ a: 'x'.repeat(26_214_400 - 1_024) }));
    const chunks = Array.from({ length: 26 }, (_, n) => body.subarray(n * 1_048_576, (n + 1) * 1_048_576));
    expect(await send(whole, hook.path, { headers: githubHeaders(body), chunks })).toMatchObject({ status: 202 });
  });

  test('beyond the limit, in chunks, is refused before it is complete', async () => {
    const hook = await make();
    const chunks = ['x'.repeat(40), 'x'.repeat(40)];
    const sent = { headers: githubHeaders(chunks.join('')), chunks, isEnded: false };
    expect(await send(small, hook.path, sent)).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
  });

  test('is buffered with others of its hook up to a limit, and one for an unknown hook is not buffered', async () => {
    const [hook, other] = [await make(), await make()];
    const body = 'x'.repeat(60);
    const begun = (path: string) => {
      let read = () => {};
      const isRead = new Promise<void>((resolve) => {
        read = resolve;
      });
      let end = () => {};
      const stream = new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            controller.enqueue(Buffer.from(body));
            end = () => controller.close();
          },
          pull: () => read(), // the piece before was taken
        },
        { highWaterMark: 1 },
      );
      const init = { method: 'POST', body: stream, duplex: 'half' } as RequestInit;
      return { isRead, end: () => end(), answer: Promise.resolve(app.request(path, init)) };
    };
    const app = alone();
    const first = begun(hook.path);
    await first.isRead;
    const post = async (path: string) => (await app.request(path, { method: 'POST', body })).status;
    expect(await post(hook.path)).toBe(429);
    expect(await post(other.path)).toBe(401);
    const nowhere = begun('/h/hok-zzzzzzzzzzzzzzzz');
    await nowhere.isRead;
    expect(await post('/h/hok-zzzzzzzzzzzzzzzz')).toBe(404);
    for (const one of [first, nowhere]) one.end();
    expect([(await first.answer).status, (await nowhere.answer).status]).toEqual([401, 404]);
    expect(await post(hook.path)).toBe(401);
  });

  test('that arrives slowly ends in 408', async () => {
    const hook = await make();
    const sent = { headers: githubHeaders('{}'), chunks: ['{'], isEnded: false };
    expect(await send(small, hook.path, sent)).toMatchObject({ status: 408, body: { code: 'request_timeout' } });
  });
});

test('a hook has a rate limit, and unknown hooks share one', async () => {
  const app = alone();
  const post = (path: string) => app.request(path, { method: 'POST', body: BODY });
  const [hook, other] = [await make(), await make()];
  const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await post(hook.path)).status));
  expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(3);
  const refused = await post(hook.path);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '1']);
  expect((await post(other.path)).status).toBe(401);
  const guesses = Array.from({ length: 10 }, async (_, n) => (await post(`/h/hok-000000000000000${n}`)).status);
  expect((await Promise.all(guesses)).filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
  expect((await post(other.path)).status).toBe(401);
});

test('the handshake is answered for allowed origins only', async () => {
  const hook = await make({ allowedOrigins: ['events.example.com'] });
  const open = await make({ allowedOrigins: ['*'] });
  const ask = async (path: string, origin?: string) => {
    const headers = origin === undefined ? {} : { 'WebHook-Request-Origin': origin, 'WebHook-Request-Rate': '120' };
    const answer = await door().app.request(path, { method: 'OPTIONS', headers });
    const told = ['WebHook-Allowed-Origin', 'WebHook-Allowed-Rate', 'Allow'].map((name) => answer.headers.get(name));
    return [answer.status, ...told];
  };
  const nothing = [200, null, null, 'OPTIONS, POST'];
  expect(await ask(hook.path, 'events.example.com')).toEqual([200, 'events.example.com', '6000', 'OPTIONS, POST']);
  expect(await ask(open.path, 'anybody.example')).toEqual([200, 'anybody.example', '6000', 'OPTIONS, POST']);
  expect(await ask(hook.path, 'example.com')).toEqual(nothing);
  expect(await ask(hook.path)).toEqual(nothing);
  expect(await ask('/h/hok-zzzzzzzzzzzzzzzz', 'events.example.com')).toEqual(nothing);
});

test('a missing store causes 503 and Retry-After', async ({ skip }) => {
  const stores = await startStoreServer();
  const { kill } = stores;
  if (!kill) return skip('the store is not ours to end');
  const store = await openStore(stores.uri);
  try {
    const sagas = immediateSagas(store);
    const app = createApp({ store, sagas, guests: noGuests, version: '0', logger });
    const headers = githubHeaders(BODY) as [string, string][];
    const post = () => app.request('/h/hok-0123456789abcdef', { method: 'POST', body: BODY, headers });
    expect(await said(post())).toMatchObject({ status: 404 });
    await kill();
    const answer = await post();
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  } finally {
    await store.close();
    await stores.stop();
  }
});

describe('a slow schema check does not delay the response', () => {
  const limits = { ...SMALL, requestsPerSecond: 100, answerMs: HANGS_AFTER_MS, checkMs: 50 };
  const pattern = '^(a+)+$';
  const post = (app: OpenAPIHono<Env>, path: string, headers: readonly Header[]) =>
    said(app.request(path, { method: 'POST', body: BODY, headers: headers as [string, string][] }));

  test('the event is stored, is a duplicate later, and waits for the check; a request by a key waits', async () => {
    const schemas = new InputSchemas({ validateMs: HANGS_AFTER_MS });
    onTestFinished(() => schemas.close());
    const name = await deploy({ input: { schema: { type: 'object', required: ['a'] } } });
    const hook = await make({ function: name });
    const app = alone(door().store, limits, schemas);
    await schemas.warm();
    const busy = schemas.problemsOf('busy', { pattern }, `${'a'.repeat(40)}!`).catch(() => 'ended');
    const headers = githubHeaders(BODY);
    const { status, runId = '' } = await post(app, hook.path, headers);
    expect(status).toBe(202);
    expect(await door().store.runs.get(runId)).toMatchObject({ waitingFor: 'check', outcome: null });
    expect(await post(app, hook.path, headers)).toMatchObject({ status: 200, runId, duplicate: true });
    const other = await post(app, hook.path, githubHeaders(BODY, { secret: 'wrong' }));
    expect(other).toMatchObject({ status: 401 });
    expect(await said(door().call('POST', `/v1/functions/${name}/runs`, {}))).toMatchObject({
      status: 422,
      code: 'event_invalid',
    });
    const free = alone(door().store, { ...limits, checkMs: HANGS_AFTER_MS });
    expect(await post(free, hook.path, headers)).toMatchObject({ status: 200, runId, duplicate: true });
    expect(await post(free, hook.path, githubHeaders(BODY))).toMatchObject({ status: 422, code: 'event_invalid' });
    await schemas.close();
    expect(await busy).toBe('ended');
    expect(await post(app, hook.path, githubHeaders(BODY))).toMatchObject({ status: 202 }); // no check is possible now
  });

  test('and an abandoned check is skipped when its turn comes', async () => {
    const schemas = new InputSchemas();
    onTestFinished(() => schemas.close());
    const late = new AbortController();
    const slow = schemas.problemsOf('slow', { pattern }, `${'a'.repeat(40)}!`).catch(() => 'ended');
    const given = schemas.problemsOf('other', { pattern }, 'aaa', late.signal);
    late.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
    expect(await slow).toBe('ended');
  });
});

describe('a slow store does not delay the response', () => {
  const limits = { ...SMALL, answerMs: 50 };
  const post = (app: OpenAPIHono<Env>, path: string, headers: readonly Header[]) =>
    said(app.request(path, { method: 'POST', body: BODY, headers: headers as [string, string][] }));

  test('when a hook is read', async () => {
    const never = new Promise<null>(() => {});
    const hooks = Object.assign(Object.create(door().store.hooks) as Hooks, { get: () => never });
    const answer = await post(alone({ ...door().store, hooks }, limits), '/h/hok-0123456789abcdef', []);
    expect(answer).toMatchObject({ status: 503, code: 'store_unavailable' });
  });

  test('when an event is stored; the write continues, and a repetition is a duplicate', async () => {
    const hook = await make();
    const { store } = door();
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const accepting: Runs['accept'] = (...given) => gate.then(() => store.runs.accept(...given));
    const stored = vi.fn(accepting);
    const runs = Object.assign(Object.create(store.runs) as Runs, { accept: stored });
    const headers = githubHeaders(BODY);
    const slow = alone({ ...store, runs }, limits);
    do {
      expect(await post(slow, hook.path, headers)).toMatchObject({ status: 503 });
    } while (stored.mock.calls.length === 0); // a busy machine may have read the hook for that long
    open();
    expect(await stored.mock.results[0]?.value).toBe(true);
    expect(await post(alone(), hook.path, headers)).toMatchObject({ status: 200, duplicate: true });
  });
});
