import { beforeAll, expect, it } from 'vitest';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { functionVersion, RUN_ID, runRecord } from './records.ts';
import { answerJson, useStandIn } from './stand-in.ts';

// Client of functions and runs against a stand-in for the API. One second.

const server = useStandIn();
let client: MayflyClient;
beforeAll(async () => {
  client = new MayflyClient({ baseUrl: server.url, apiKey: 'mfk_test' });
});

it('sends data as JSON, bytes unchanged, and no body without data', async () => {
  server.answers((_request, response) => answerJson(response, 202, runRecord()));
  await client.runs.create('fn', { n: 1 }, { idempotencyKey: 'k', delaySeconds: 5, waitSeconds: 7 });
  await client.runs.create('fn', Buffer.from('x'), { contentType: 'text/plain' });
  await client.runs.create('fn');
  const sent = server.seen.map(({ path, body, headers }) => [path, body, headers['content-type'], headers['prefer']]);
  expect(sent).toEqual([
    ['/v1/functions/fn/runs?delaySeconds=5', '{"n":1}', 'application/json', 'wait=7'],
    ['/v1/functions/fn/runs', 'x', 'text/plain', 'wait=0'],
    ['/v1/functions/fn/runs', '', undefined, 'wait=0'],
  ]);
  expect(server.seen[0]?.headers['idempotency-key']).toBe('k');
});

it('invokes under one key, and distinguishes a result, no result and a pending one', async () => {
  const head = { 'mayfly-run-id': RUN_ID };
  const busy = { title: 'x', status: 503, code: 'store_unavailable', retryable: true };
  server.answers((_request, response, count) => {
    if (count === 0) answerJson(response, 503, busy, { 'retry-after': '0' });
    else response.writeHead(200, { ...head, 'content-type': 'image/png' }).end(Buffer.from([0, 255]));
  });
  const found = await client.runs.invoke('fn', { n: 1 }, { waitSeconds: 3 });
  expect(found).toEqual({ runId: RUN_ID, contentType: 'image/png', bytes: new Uint8Array([0, 255]) });
  expect(new Set(server.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(server.seen.map(({ headers }) => headers['prefer'])).toEqual(['wait=3', 'wait=3']);

  server.answers((_request, response) => void response.writeHead(204, head).end());
  expect(await client.runs.invoke('fn')).toEqual({ runId: RUN_ID, contentType: null, bytes: new Uint8Array() });
  server.answers((_request, response) => answerJson(response, 202, runRecord(), head));
  expect(await client.runs.invoke('fn')).toMatchObject({ runId: RUN_ID, run: { state: 'queued' }, contentType: null });
  const failed = { title: 'x', status: 502, code: 'run_failed', retryable: false };
  server.answers((_request, response) => answerJson(response, 502, failed));
  await expect(client.runs.invoke('fn')).rejects.toMatchObject({ code: 'run_failed' });
  expect(server.seen).toHaveLength(1);
});

it('waits for the cleanup, or only for the end', async () => {
  const ended = runRecord({ state: 'ended', outcome: 'succeeded', cleanup: 'pending' });
  const states = [runRecord({ state: 'running', cleanup: 'pending' }), ended, { ...ended, cleanup: 'proved' as const }];
  server.answers((_request, response, count) => answerJson(response, 200, states[Math.min(count, 2)]));
  expect(await client.runs.ended(RUN_ID)).toEqual(states[2]);
  expect(server.seen).toHaveLength(3);
  server.answers((_request, response, count) => answerJson(response, 200, states[Math.min(count, 2)]));
  expect(await client.runs.ended(RUN_ID, { until: 'ended' })).toEqual(ended);
});

it('ends its wait on the signal', async () => {
  const controller = new AbortController();
  server.answers((_request, response) => answerJson(response, 200, runRecord()));
  const look = () => controller.abort(new Error('left'));
  await expect(client.runs.ended(RUN_ID, { look, signal: controller.signal })).rejects.toThrow('left');
});

it("encodes the slashes of an artifact's path", async () => {
  server.answers((_request, response) => void response.writeHead(200).end('x'));
  expect(Buffer.from(await client.runs.artifact(RUN_ID, '../a/b.png')).toString()).toBe('x');
  expect(server.seen[0]?.path).toBe(`/v1/runs/${RUN_ID}/artifacts/..%2Fa%2Fb.png`);
});

it('reads an output from an offset, and returns the next one', async () => {
  const headers = { 'x-mayfly-next-offset': '9', 'x-mayfly-ended': 'false' };
  server.answers((_request, response) => void response.writeHead(200, headers).end('later'));
  const { bytes, ...where } = await client.runs.output(RUN_ID, { stream: 'stderr', attempt: 2, offset: 4, limit: 5 });
  expect([await new Response(bytes).text(), where]).toEqual(['later', { nextOffset: 9, hasEnded: false }]);
  expect(server.seen[0]?.path).toBe(`/v1/runs/${RUN_ID}/output?stream=stderr&attempt=2&offset=4&limit=5`);
});

it('sends a batch, and returns a result for each event', async () => {
  const items = [{ status: 202, runId: RUN_ID, isNew: true }];
  server.answers((_request, response) => answerJson(response, 207, { items }));
  const event = { specversion: '1.0', id: '1', source: '/s', type: 't' } as const;
  expect(await client.runs.createBatch('fn', [event])).toEqual(items);
  expect(server.seen[0]).toMatchObject({ path: '/v1/functions/fn/runs:batch', body: JSON.stringify([event]) });
  expect(server.seen[0]?.headers['content-type']).toBe('application/cloudevents-batch+json');
});

it('distinguishes a new version from an existing one, and a finished deletion from a pending one', async () => {
  for (const [status, isNew] of [
    [201, true],
    [200, false],
  ] as const) {
    server.answers((_request, response) => answerJson(response, status, functionVersion));
    expect(await client.functions.deploy('fn', { source: 'x', argv: ['a'] })).toEqual({
      version: functionVersion,
      isNew,
    });
  }
  server.answers((_request, response) => void response.writeHead(204).end());
  expect(await client.functions.delete('fn')).toBeUndefined();
  expect(server.seen[0]?.path).toBe('/v1/functions/fn');
});

it('replays with an event as written, and redrives', async () => {
  server.answers((_request, response) => answerJson(response, 202, runRecord()));
  await client.runs.replay(RUN_ID, { event: Buffer.from('{"data":12345678901234567890}'), version: 'current' });
  await client.runs.replay(RUN_ID, { event: { data: 1 }, idempotencyKey: 'k' });
  await client.runs.redrive(RUN_ID, { version: 'same' });
  expect(server.seen.map(({ method, path, body }) => `${method} ${path} ${body}`)).toEqual([
    `POST /v1/runs/${RUN_ID}/replay {"version":"current","event":{"data":12345678901234567890}}`,
    `POST /v1/runs/${RUN_ID}/replay {"version":"same","event":{"data":1}}`,
    `POST /v1/runs/${RUN_ID}/redrive?version=same `,
  ]);
  expect(server.seen.map(({ headers }) => headers['content-type'])).toEqual([
    'application/json',
    'application/json',
    undefined,
  ]);
  expect(server.seen[1]?.headers['idempotency-key']).toBe('k');
});

it('follows a run until its cleanup ends, and resumes after a break', async () => {
  const over = runRecord({ state: 'ended', outcome: 'failed', cleanup: 'proved' });
  const message = (id: string, run: object) => `id: ${id}\nevent: run\ndata: ${JSON.stringify(run)}\n\n`;
  server.answers(({ path, headers }, response) => {
    if (path === `/v1/runs/${RUN_ID}`) return answerJson(response, 200, server.seen.length > 2 ? over : runRecord());
    const isFirst = headers['last-event-id'] === undefined;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return void response.end(isFirst ? `retry: 1\n${message('a', runRecord())}` : message('b', over));
  });
  const states: string[] = [];
  for await (const { state } of client.runs.follow(RUN_ID)) states.push(state);
  expect(states).toEqual(['queued', 'ended']);
  const asked = server.seen.filter(({ path }) => path.endsWith('/events'));
  expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'a']);
});
