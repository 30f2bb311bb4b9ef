import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApprovalNeededError,
  MayflyApiError,
  MayflyConnectionError,
} from '../../../clients/typescript/http/problem.ts';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { Mayfly } from '../../../clients/typescript/package/mayfly.ts';
import { ID, sandboxRecord } from './records.ts';
import { answerJson, useStandIn } from './stand-in.ts';

const server = useStandIn();
let client: MayflyClient;

beforeAll(async () => {
  client = new MayflyClient({ baseUrl: `${server.url}/`, apiKey: 'mfk_test' });
});

const busy = { code: 'too_many_requests', title: 'Too many', status: 429, retryable: true, requestId: 'r1' };

describe('MayflyClient', () => {
  it('retries a create under one idempotency key, after Retry-After', async () => {
    server.answers((_request, response, count) => {
      if (count < 2) answerJson(response, 429, busy, { 'retry-after': '0' });
      else answerJson(response, 201, sandboxRecord());
    });
    const record = await client.createSandbox({ source: 'golden-debian12' }, { waitSeconds: 5 });
    expect(record.id).toBe(ID);
    expect(server.seen).toHaveLength(3);
    expect(new Set(server.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(server.seen[0]?.headers).toMatchObject({ authorization: 'Bearer mfk_test', prefer: 'wait=5' });
    expect(server.seen[0]?.body).toBe('{"source":"golden-debian12"}');
  });

  // A repetition could consume an approval given in the interim.
  it('throws the pending approval with the key to repeat the request; it withdraws nothing', async () => {
    const waits = { id: 'apr-0123456789abcdef', rules: ['internet-is-asked-for'], role: 'admin' };
    server.answers((_request, response) => answerJson(response, 202, waits, { location: `/v1/approvals/${waits.id}` }));
    const mayfly = new Mayfly({ baseUrl: server.url, apiKey: 'mfk_test' });
    const error: unknown = await mayfly.create({ source: 'golden-debian12' }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApprovalNeededError);
    expect(server.seen).toHaveLength(1);
    expect(error).toMatchObject({ approval: waits, idempotencyKey: server.seen[0]?.headers['idempotency-key'] });
  });

  it('polls a pending approval once a second, even when an intermediary answers at once', async () => {
    const waits = { id: 'apr-0123456789abcdef', rules: ['asked-for'], role: 'admin', state: 'awaiting-approval' };
    let isApproved = false;
    server.answers(({ method }, response) => {
      if (method === 'GET')
        return answerJson(response, 200, { ...waits, state: isApproved ? 'approved' : waits.state });
      if (isApproved) return answerJson(response, 201, sandboxRecord());
      return answerJson(response, 202, waits, { location: `/v1/approvals/${waits.id}` });
    });
    const waiting = new MayflyClient({ baseUrl: server.url, apiKey: 'mfk_test', onApproval: () => {} });
    const created = waiting.createSandbox({ source: 'golden-debian12' });
    const looks = () => server.seen.filter(({ method }) => method === 'GET').length;
    await expect.poll(looks).toBe(1);
    let others = 0;
    for (; looks() < 3; others++) await fetch(server.url, { method: 'HEAD' });
    expect(others).toBeGreaterThan(20); // polls without a pause would alternate with these
    isApproved = true;
    expect((await created).id).toBe(ID);

    const gone = new AbortController();
    isApproved = false;
    const left = waiting.createSandbox({ source: 'golden-debian12' }, { signal: gone.signal });
    await expect.poll(looks).toBeGreaterThan(4);
    gone.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
  });

  it('retries the creation of a key with the same idempotency key', async () => {
    const away = { ...busy, code: 'store_unavailable', status: 503 };
    server.answers((_request, response) => answerJson(response, 503, away, { 'retry-after': '0' }));
    await expect(client.createKey({ name: 'ci', scopes: ['admin'] })).rejects.toThrow(MayflyApiError);
    expect(server.seen).toHaveLength(4);
    expect(new Set(server.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  });

  it('does not retry a failed saga, whose recorded answer would be the same', async () => {
    const failed = { code: 'boot_failed', title: 'It did not start', status: 502, retryable: true, sandboxId: ID };
    server.answers((_request, response) => answerJson(response, 502, failed));
    const error = await client.createSandbox({ source: 'x' }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'boot_failed', retryable: true, problem: { sandboxId: ID } });
    expect(error).toMatchObject({ remedy: expect.stringMatching(/\w/) });
    expect(server.seen).toHaveLength(1);
  });

  it('gives up after four attempts, and at once on a long Retry-After', async () => {
    server.answers((_request, response) => answerJson(response, 429, busy, { 'retry-after': '0' }));
    await expect(client.getSandbox(ID)).rejects.toMatchObject({ code: 'too_many_requests', requestId: 'r1' });
    expect(server.seen).toHaveLength(4);
    server.answers((_request, response) => answerJson(response, 429, busy, { 'retry-after': '600' }));
    await expect(client.getSandbox(ID)).rejects.toMatchObject({ retryAfterSeconds: 600 });
    expect(server.seen).toHaveLength(1);
  });

  it('turns the page of a proxy into an error by its status', async () => {
    server.answers((_request, response) => void response.writeHead(403).end('<html>no</html>'));
    await expect(client.listHosts()).rejects.toMatchObject({ code: 'forbidden', status: 403, retryable: false });
  });

  it('names the invalid fields', async () => {
    const errors = [{ field: 'cpus', problem: 'must be at most 64' }];
    server.answers((_request, response) => answerJson(response, 422, { code: 'invalid_request', status: 422, errors }));
    await expect(client.createSandbox({ source: 'x', cpus: 99 })).rejects.toMatchObject({ problem: { errors } });
  });

  it('encodes an id that is a path', async () => {
    server.answers((_request, response) => answerJson(response, 400, { code: 'invalid_id', status: 400 }));
    await expect(client.getSandbox('../../etc')).rejects.toMatchObject({ code: 'invalid_id' });
    expect(server.seen[0]?.path).toBe('/v1/sandboxes/..%2F..%2Fetc');
  });

  it('stops when aborted, also between attempts', async () => {
    const controller = new AbortController();
    server.answers((_request, response) => {
      answerJson(response, 429, busy, { 'retry-after': '20' });
      controller.abort(new Error('enough'));
    });
    await expect(client.getSandbox(ID, { signal: controller.signal })).rejects.toThrow(/enough|aborted/);
    expect(server.seen).toHaveLength(1);
  });

  it('ends a call at its deadline, and skips a wait beyond it', async () => {
    server.answers(() => {});
    const late = client.getSandbox(ID, { deadlineSeconds: 0.1 });
    await expect(late).rejects.toMatchObject({ name: 'MayflyDeadlineError', seconds: 0.1 });
    server.answers((_request, response) => answerJson(response, 429, busy, { 'retry-after': '20' }));
    await expect(client.getSandbox(ID, { deadlineSeconds: 5 })).rejects.toMatchObject({ code: 'too_many_requests' });
    expect(server.seen).toHaveLength(1);
  });

  it('reconnects a stream until its deadline, through any number of outages', async () => {
    const streams = () => server.seen.filter(({ path }) => path.endsWith('/events')).length;
    const end = sandboxRecord({ state: 'destroyed' });
    server.answers(({ path }, response) => {
      if (!path.endsWith('/events')) return void response.destroy();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1\n\n');
      if (streams() < 40) response.destroy();
      else {
        server.answers((_request, other) => answerJson(other, 200, end));
        response.end(`event: sandbox\ndata: ${JSON.stringify(end)}\n\n`);
      }
    });
    const states: string[] = [];
    for await (const { state } of client.watchSandbox(ID)) states.push(state);
    expect(states).toEqual(['destroyed']);

    server.answers((_request, response) => void response.destroy());
    const watching = client.watchSandbox(ID, { deadlineSeconds: 0.01 });
    await expect(watching.next()).rejects.toThrow('does not answer');
  });

  it('keeps an unknown error code', async () => {
    server.answers((_request, response) => answerJson(response, 409, { code: 'of_tomorrow', status: 409 }));
    const error = await client.getSandbox(ID).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'invalid_request', problem: { unknownCode: 'of_tomorrow' } });
  });

  it('never follows a redirect with the key', async () => {
    server.answers((_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end());
    await expect(client.listKeys()).rejects.toThrow(MayflyConnectionError);
  });

  it('refuses a base URL that is not http, and an invalid key', () => {
    expect(() => new MayflyClient({ baseUrl: 'file:///etc/passwd', apiKey: 'k' })).toThrow('http');
    const withLineEnd = () => new MayflyClient({ baseUrl: server.url, apiKey: 'mfk_secret\n' });
    expect(withLineEnd).toThrow('the API key has characters that no key has');
  });

  it('resumes a broken stream after the last event, until the sandbox has ended', async () => {
    let streams = 0;
    server.answers((request, response) => {
      if (!request.path.endsWith('/events')) {
        answerJson(response, 200, sandboxRecord({ state: streams < 2 ? 'destroying' : 'destroyed' }));
        return;
      }
      streams++;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`retry: 1\nid: ${streams}\nevent: audit\ndata: ${streams}\n\n`);
      if (streams === 1) response.write('event: audit\ndata: cut', () => response.destroy());
      else response.end();
    });
    const events = [];
    for await (const { data } of client.sandboxEvents(ID)) events.push(data);
    expect(events).toEqual(['1', '2']);
    const resumed = server.seen
      .filter(({ path }) => path.endsWith('/events'))
      .map(({ headers }) => headers['last-event-id']);
    expect(resumed).toEqual([undefined, '1']);
  });
});
