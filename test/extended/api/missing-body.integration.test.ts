import { connect } from 'node:net';
import { z } from '@hono/zod-openapi';
import { Hono } from 'hono';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { readJson } from '../../../api/http/body.ts';
import type { Env } from '../../../api/http/context.ts';
import { apiServer } from '../../../api/server/api-server.ts';
import { jsonOf, problemOf, useDoor } from '../../api/support.ts';
import { listen } from '../../support/listen.ts';

const door = useDoor();
let key: string;
let runId: string;
const server = () => apiServer(door.app as Parameters<typeof apiServer>[0], pino({ level: 'silent' }));

beforeAll(async () => {
  key = await door.key('operator');
  const wish = { source: 'golden', command: 'true' };
  expect((await door.call('PUT', '/v1/functions/echo', wish)).status).toBe(201);
  ({ id: runId } = await jsonOf<{ id: string }>(door.call('POST', '/v1/functions/echo/runs', { n: 1 })));
});

/** Lists the operations that take JSON, with their descriptions of it. */
function operations() {
  return door.app.openAPIRegistry.definitions.flatMap((definition) => {
    if (definition.type !== 'route') return [];
    const { method, path, request } = definition.route;
    const media = request?.body?.content['application/json'];
    if (!media || !('schema' in media) || !(media.schema instanceof z.ZodType)) return [];
    const said = { required: request?.body?.required, isEmptyFine: media.schema.safeParse({}).success };
    return [{ method: method.toUpperCase(), path, ...said }];
  });
}

function isOf(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
}

/** Sends bytes that no HTTP client produces, and returns the response. */
async function raw(lines: string[], body = ''): Promise<string> {
  const listening = server();
  const socket = connect(await listen(listening), '127.0.0.1');
  const head = [...lines, 'Host: x', `Authorization: Bearer ${key}`, 'Connection: close'];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += chunk as string;
  listening.close();
  return text;
}

// 1 s. Promise: an operation that accepts `{}` also accepts a missing body in any form; no other does.
describe('a body that is missing', () => {
  it('is described correctly for each operation', () => {
    const wrong = operations().filter(({ required, isEmptyFine }) => required === isEmptyFine);
    expect(wrong).toEqual([]);
    expect(operations().filter(({ isEmptyFine }) => isEmptyFine).length).toBeGreaterThan(10);
  });

  it('is not refused for its media type where it is optional', async () => {
    for (const { method, path, isEmptyFine } of operations()) {
      const filled = path.replace('{name}', 'echo').replaceAll(/\{\w+\}/g, runId);
      const response = await door.app.request(filled, { method, headers: { 'X-API-Key': key } });
      expect([path, response.status === 415]).toEqual([path, !isEmptyFine]);
    }
  });

  it.each([
    ['without a type', {}],
    ['as JSON', { 'Content-Type': 'application/json' }],
    ['as curl -d "" says it', { 'Content-Type': 'application/x-www-form-urlencoded' }],
  ])('gives a replay its defaults: %s', async (_how, headers) => {
    const response = await door.app.request(`/v1/runs/${runId}/replay`, {
      method: 'POST',
      headers: { 'X-API-Key': key, ...headers },
    });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ replayOf: runId, version: 1 });
  });

  it('is the same request as {} to an Idempotency-Key', async () => {
    const headers = { 'X-API-Key': key, 'Idempotency-Key': 'once' };
    const path = `/v1/runs/${runId}/replay`;
    const first = await jsonOf<{ id: string }>(door.app.request(path, { method: 'POST', headers }));
    expect(await jsonOf(door.call('POST', path, {}, headers, key))).toMatchObject({ id: first.id });
  });

  it.each([
    ['no length', [], '', ' 202 '],
    ['a length of none', ['Content-Length: 0'], '', ' 202 '],
    ['no chunk', ['Transfer-Encoding: chunked'], '0\r\n\r\n', ' 202 '],
    ['a blank', ['Content-Length: 1', 'Content-Type: application/json'], ' ', ' 400 '],
    ['another type', ['Content-Length: 2', 'Content-Type: text/plain'], '{}', ' 415 '],
  ])('is recognized by its bytes: %s', async (_how, lines, body, status) => {
    expect((await raw([`POST /v1/runs/${runId}/replay HTTP/1.1`, ...lines], body)).split('\r\n')[0]).toContain(status);
  });

  it('does not hide the disconnect of a waiting caller', async () => {
    const app = new Hono<Env>();
    const waiting: unknown[] = []; // as a waiting handler holds its request
    const left = new Promise<void>((resolve) => {
      app.post('/waits', readJson(true), (c) => {
        waiting.push(c);
        c.req.raw.signal.addEventListener('abort', () => resolve());
        socket.destroy();
        return new Promise<never>(() => {});
      });
    });
    const listening = apiServer(app, pino({ level: 'silent' }));
    const socket = connect(await listen(listening), '127.0.0.1');
    socket.write('POST /waits HTTP/1.1\r\nHost: x\r\n\r\n');
    await left;
    listening.close();
  });

  it('belongs to one operation: no path matches two', () => {
    const routes = door.app.openAPIRegistry.definitions.flatMap((one) => (one.type === 'route' ? [one.route] : []));
    for (const { method, path } of operations()) {
      const filled = path.replaceAll(/\{\w+\}/g, 'x');
      const same = routes.filter((other) => other.method.toUpperCase() === method && isOf(other.path, filled));
      expect(same.map((other) => other.path)).toEqual([path]);
    }
  });

  it('that is required is refused', async () => {
    const post = (headers: Record<string, string>) =>
      door.app.request('/v1/sandboxes', { method: 'POST', headers: { 'X-API-Key': key, ...headers } });
    expect((await problemOf(post({}))).code).toBe('unsupported_media_type');
    expect((await problemOf(post({ 'Content-Type': 'application/json' }))).code).toBe('invalid_json');
    expect((await problemOf(door.call('POST', '/v1/nothing', undefined))).code).toBe('not_found');
  });
});
