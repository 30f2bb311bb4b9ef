import { describe, expect, it, vi } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { jsonOf, problemOf, useDoor } from '../support.ts';

interface Run {
  id: string;
  state: string;
  function: string;
  event: { id: string; source: string; type: string };
}

const door = useDoor();

let count = 0;
async function deployed(more: object = {}): Promise<string> {
  const name = `fn-${++count}`;
  const wish = { source: 'golden', command: 'cat', ...more };
  expect((await door.call('PUT', `/v1/functions/${name}`, wish)).status).toBe(201);
  return name;
}

const post = (name: string, body: unknown, headers: Record<string, string> = {}) =>
  door.call('POST', `/v1/functions/${name}/runs`, body, headers);
const STRUCTURED = { 'Content-Type': 'application/cloudevents+json; charset=utf-8' };
const event = (id: string, data: unknown = {}) => ({
  specversion: '1.0',
  id,
  source: '/test',
  type: 'test.made',
  data,
});

describe('an event', () => {
  it('is stored before the answer, byte for byte', async () => {
    const name = await deployed();
    const response = await post(name, '{"n":12345678901234567890, "f":1.0}');
    const run = await jsonOf<Run>(response);
    expect(response.status).toBe(202);
    expect(response.headers.get('Location')).toBe(`/v1/runs/${run.id}`);
    expect(run).toMatchObject({ state: 'queued', function: name, outcome: null, cleanup: 'none', attempts: [] });
    const stored = Buffer.from((await door.store.runs.eventOf(run.id)) ?? []).toString();
    expect(stored).toContain('{"n":12345678901234567890, "f":1.0}');
    expect(JSON.parse(stored)).toMatchObject({ specversion: '1.0', type: 'mayfly.function.invoked' });
    expect(door.sagas.woken).toContain(`default/${name}`);
  });

  it('causes no read of its run when the caller does not wait', async () => {
    const get = vi.spyOn(door.store.runs, 'get');
    const response = await post(await deployed(), {}, { Prefer: 'wait=0' });
    expect([response.status, response.headers.get('Preference-Applied')]).toEqual([202, 'wait=0']);
    expect(get).not.toHaveBeenCalled();
    get.mockRestore();
  });

  it('with the same Idempotency-Key is the same run, also 50 at once; a different one is refused', async () => {
    const name = await deployed();
    const key = { 'Idempotency-Key': 'once' };
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(name, { n: 1 }, key)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const ids = await Promise.all(answers.map(async (each) => (await jsonOf<Run>(each)).id));
    expect(new Set(ids).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true')).toHaveLength(49);
    const other = await post(name, { n: 2 }, key);
    expect([other.status, (await problemOf(other)).code]).toEqual([422, 'idempotency_key_reused']);
    expect((await jsonOf<Run>(post(await deployed(), { n: 2 }, key))).id).not.toBe(ids[0]);
  });

  it('is deduplicated by source and id in every mode, per function (cases 4, 5)', async () => {
    const [name, other] = [await deployed(), await deployed()];
    const first = await jsonOf<Run>(post(name, event('1', { n: 1 }), STRUCTURED));
    expect(first.event).toEqual({ id: '1', source: '/test', type: 'test.made', time: null });
    const again = await post(name, event('1', { n: 1 }), STRUCTURED);
    expect([again.headers.get('Idempotent-Replayed'), (await jsonOf<Run>(again)).id]).toEqual(['true', first.id]);
    const conflict = await post(name, event('1', { n: 2 }), STRUCTURED);
    expect([conflict.status, (await problemOf(conflict)).code]).toEqual([409, 'event_conflict']);
    expect((await jsonOf<Run>(post(other, event('1', { n: 1 }), STRUCTURED))).id).not.toBe(first.id);
    const binary = { 'ce-specversion': '1.0', 'ce-id': '2', 'ce-source': '/test', 'ce-type': 'test.made' };
    const second = await jsonOf<Run>(post(name, { n: 3 }, binary));
    expect(second.event).toMatchObject({ id: '2', source: '/test' });
    expect(second.id).not.toBe(first.id);
  });

  it('is a duplicate until its dedupe period ends, then a new one (case 6)', async () => {
    const name = await deployed();
    const { id } = await jsonOf<Run>(post(name, event('old'), STRUCTURED));
    const record = await door.store.runs.get(id);
    expect(Date.parse(record?.dedupeUntil ?? '') - Date.parse(record?.acceptedAt ?? '')).toBe(7 * 86_400_000);
    await door.store.runs.change(id, ['queued'], { dedupeUntil: new Date(Date.now() - 1_000).toISOString() });
    const next = await post(name, event('old'), STRUCTURED);
    expect((await jsonOf<Run>(next)).id).not.toBe(id);
    expect(next.headers.get('Idempotent-Replayed')).toBeNull();
    expect((await post(name, event('old'), STRUCTURED)).headers.get('Idempotent-Replayed')).toBe('true');
  });

  it('that is large is stored separately, whole, and refused beyond the limit', async () => {
    const name = await deployed({ input: { maxBytes: 300_000 } });
    const text = 'x'.repeat(200_000);
    const { id } = await jsonOf<Run>(post(name, event('large', text), STRUCTURED));
    const record = await door.store.runs.get(id);
    expect(await door.store.runs.eventOf(id)).toBeNull();
    const kept = await door.store.runContents.get(id, `event/${record?.eventDigest}`);
    expect(JSON.parse(Buffer.from(kept ?? []).toString())).toMatchObject({ data: text });
    expect((await post(name, event('large', text), STRUCTURED)).headers.get('Idempotent-Replayed')).toBe('true');
    expect((await post(name, event('large', `${text}y`), STRUCTURED)).status).toBe(409);
    const refused = await post(name, event('larger', 'x'.repeat(300_000)), STRUCTURED);
    expect([refused.status, (await problemOf(refused)).code]).toEqual([413, 'event_too_large']);
  });

  it('that is a duplicate returns its run also when a new one like it would be refused', async () => {
    const name = await deployed();
    const first = await jsonOf<Run>(post(name, event('1', { n: 1 }), STRUCTURED));
    const wish = { source: 'golden', command: 'cat', input: { schema: { type: 'object', required: ['m'] } } };
    expect((await door.call('PUT', `/v1/functions/${name}`, wish)).status).toBe(201);
    await expect.poll(async () => (await post(name, { n: 1 })).status).toBe(422); // the new version is in effect by then
    const again = await post(name, event('1', { n: 1 }), STRUCTURED);
    expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([202, 'true']);
    expect((await jsonOf<Run>(again)).id).toBe(first.id);
    expect((await post(name, event('1', { n: 2 }), STRUCTURED)).status).toBe(409);
    expect((await post(name, event('2', { n: 1 }), STRUCTURED)).status).toBe(422);
  });

  it("that does not match the schema, or has no key, is refused with the field's path", async () => {
    const schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
    const name = await deployed({ input: { schema }, concurrency: [{ limit: 1, key: '/who' }] });
    const bad = await post(name, { id: 'one' });
    expect([bad.status, await problemOf(bad)]).toMatchObject([
      422,
      { code: 'event_invalid', errors: [{ field: 'data/id' }] },
    ]);
    const list = await post(name, { id: 1, who: [1] });
    expect([list.status, await problemOf(list)]).toMatchObject([
      422,
      { code: 'key_invalid', errors: [{ field: 'data/who' }] },
    ]);
    expect((await post(name, { id: 1, who: 'x'.repeat(300) })).status).toBe(422);
    expect((await post(name, { id: 1 })).status).toBe(202);
    expect((await jsonOf<{ items: Run[] }>(door.call('GET', `/v1/runs?function=${name}`))).items).toHaveLength(1);
  });

  it('with a delay is delayed, and its maximum age counts from the due time', async () => {
    const name = await deployed({ maxEventAgeSeconds: 60 });
    const response = await door.call('POST', `/v1/functions/${name}/runs?delaySeconds=3600`, {});
    expect(await jsonOf(response)).toMatchObject({ state: 'delayed' });
    const run = await jsonOf<{ acceptedAt: string; dueAt: string; expiresAt: string }>(
      door.call('GET', response.headers.get('Location') ?? ''),
    );
    const secondsTo = (at: string) => (Date.parse(at) - Date.parse(run.acceptedAt)) / 1_000;
    expect([secondsTo(run.dueAt), secondsTo(run.expiresAt)]).toEqual([3_600, 3_660]);
    expect(door.sagas.woken).not.toContain(`default/${name}`);
  });

  it.each([
    ['for no function', 'nobody', {}, {}, 404, 'function_not_found'],
    ['that is not JSON', null, '{"half":', {}, 400, 'invalid_json'],
    ['in Avro', null, 'x', { 'Content-Type': 'application/cloudevents+avro' }, 415, 'unsupported_media_type'],
    ['without an id', null, { specversion: '1.0', source: '/', type: 't' }, STRUCTURED, 400, 'invalid_event'],
  ])('%s is refused', async (_what, named, body, headers, status, code) => {
    const response = await post(named ?? (await deployed()), body, headers as Record<string, string>);
    expect([response.status, (await problemOf(response)).code]).toEqual([status, code]);
  });
});

it('a batch reports the result of each event, and an invalid one does not affect the others (case 26)', async () => {
  const name = await deployed({ input: { schema: { type: 'integer' } } });
  const type = { 'Content-Type': 'application/cloudevents-batch+json' };
  const events = [
    event('a', 1),
    event('b', 'two'),
    { ...event('c', 3), id: '' },
    event('d', 4),
    event('a', 1),
    event('a', 9),
  ];
  const response = await door.call('POST', `/v1/functions/${name}/runs:batch`, events, type);
  expect(response.status).toBe(207);
  const { items } = await jsonOf<{ items: { status: number; runId?: string; problem?: { code: string } }[] }>(response);
  const statuses = items.map(({ status }) => status);
  expect(statuses.slice(0, 4)).toEqual([expect.toBeOneOf([200, 202, 409]), 422, 400, 202]);
  // of three with the same id one is stored, its repetition is a duplicate, and the other is a conflict
  expect([statuses[0], statuses[4], statuses[5]].toSorted((a = 0, b = 0) => a - b)).toSatisfy(
    (all: number[]) => String(all) === '200,202,409' || String(all) === '202,409,409',
  );
  expect((await jsonOf<{ items: Run[] }>(door.call('GET', `/v1/runs?function=${name}`))).items).toHaveLength(2);
  const notOne = await door.call('POST', `/v1/functions/${name}/runs:batch`, []);
  expect(notOne.status).toBe(415);
});

describe('a caller', () => {
  it('that waits is answered when the run has ended', async () => {
    const name = await deployed();
    const waiting = post(name, {}, { Prefer: 'wait=60', 'Idempotency-Key': 'w' });
    const id = await stored(name);
    await ended(id, 'succeeded');
    const response = await waiting;
    expect([response.status, await jsonOf(response)]).toMatchObject([201, { id, outcome: 'succeeded' }]);
    expect(response.headers.get('Preference-Applied')).toBe('wait=60');
  });

  it('that invokes gets the result itself, or the reason there is none (case 58)', async () => {
    const name = await deployed();
    const invoke = (key: string, wait = 60) =>
      door.call('POST', `/v1/functions/${name}/invoke`, { key }, { 'Idempotency-Key': key, Prefer: `wait=${wait}` });
    const early = await invoke('a', 0);
    const { id } = await jsonOf<Run>(early);
    expect([early.status, early.headers.get('Mayfly-Run-Id')]).toEqual([202, id]);
    await door.store.runContents.put(id, 'result', Buffer.from('<b>hi</b>'));
    const result = { contentType: 'text/html', bytes: 9, digest: 'd', partial: false };
    await ended(id, 'succeeded', { result });
    const response = await invoke('a');
    expect([response.status, response.headers.get('Content-Type'), await response.text()]).toEqual([
      200,
      'text/html',
      '<b>hi</b>',
    ]);
    expect(response.headers.get('Content-Security-Policy')).toContain('sandbox');
    const outcomes = [
      ['succeeded', 204, null],
      ['failed', 502, 'run_failed'],
      ['timed-out', 504, 'run_timed_out'],
      ['unknown', 502, 'run_failed'],
    ] as const;
    for (const [outcome, status, code] of outcomes) {
      await ended((await jsonOf<Run>(invoke(outcome, 0))).id, outcome);
      const answer = await invoke(outcome);
      expect([answer.status, code && (await problemOf(answer)).code]).toEqual([status, code]);
      expect(answer.headers.get('Mayfly-Run-Id')).toMatch(/^run-/);
    }
  });

  it('sees no run of another project, and reads the available contents of its own', async () => {
    const name = await deployed();
    const { id } = await jsonOf<Run>(post(name, {}));
    await door.call('POST', '/v1/projects', { id: 'others' });
    const theirs = await door.key.in('others', 'sandboxes:read', 'sandboxes:write');
    for (const path of ['', '/result', '/output', '/audit', '/artifacts/a']) {
      const problem = await problemOf(door.call('GET', `/v1/runs/${id}${path}`, undefined, {}, theirs));
      expect(problem.code).toBe('run_not_found');
    }
    expect((await door.call('POST', `/v1/runs/${id}/cancel`, undefined, {}, theirs)).status).toBe(404);
    expect((await problemOf(door.call('GET', `/v1/runs/${id}/result`))).code).toBe('run_not_ended');
    expect((await problemOf(door.call('GET', `/v1/runs/${id}/output`))).code).toBe('command_not_found');
    const cancelled = await door.call('POST', `/v1/runs/${id}/cancel`);
    expect([cancelled.status, await jsonOf(cancelled)]).toMatchObject([200, { outcome: 'cancelled', state: 'ended' }]);
    expect((await problemOf(door.call('GET', `/v1/runs/${id}/result`))).code).toBe('run_without_result');
    const listed = await jsonOf<{ items: Run[] }>(door.call('GET', `/v1/runs?outcome=cancelled&function=${name}`));
    expect(listed.items.map((run) => run.id)).toEqual([id]);
  });
});

describe('numbers of callers', () => {
  const exact = '{"id": 9007199254740993, "price": 1.10, "far": 1e400}';

  it('are kept exactly in a schedule and its answers', async () => {
    const name = await deployed();
    const path = `/v1/schedules/exact-${name}`;
    const wish = `{"function": "${name}", "every": "1h", "event": {"data": ${exact}}}`;
    const made = await door.call('PUT', path, wish);
    expect([made.status, await made.text()]).toEqual([201, expect.stringContaining(`"data":${exact}`)]);
    for (const shown of [path, '/v1/schedules']) {
      expect(await (await door.call('GET', shown)).text()).toContain(`"data":${exact}`);
    }
    const tooLarge = await door.call('PUT', path, wish.replace(exact, `"${'ü'.repeat(33_000)}"`));
    expect((await problemOf(tooLarge)).errors).toMatchObject([{ field: 'event.data' }]);
  });

  it('are kept exactly in the condition of a hook', async () => {
    const name = await deployed();
    const filter = '{"conditions": [{"pointer": "/id", "in": [9007199254740993, "a", null]}]}';
    const wish = `{"function": "${name}", "scheme": "github", "secrets": ["mysecret"], "filter": ${filter}}`;
    const made = await door.call('POST', '/v1/hooks', wish);
    expect([made.status, await made.text()]).toEqual([
      201,
      expect.stringContaining('"in":[9007199254740993,"a",null]'),
    ]);
    const listed = await (await door.call('GET', `/v1/hooks?function=${name}`)).text();
    expect(listed).toContain('"in":[9007199254740993,"a",null]');
  });

  it('distinguish keys exactly, also in the list', async () => {
    const name = await deployed({ concurrency: [{ key: '/id', limit: 1 }] });
    const [odd, even] = await Promise.all(
      ['9007199254740993', '9007199254740992'].map((id) => jsonOf<Run>(post(name, `{"id": ${id}}`))),
    );
    const listed = (key: string) => jsonOf<{ items: Run[] }>(door.call('GET', `/v1/runs?function=${name}&key=${key}`));
    expect((await listed('9007199254740993')).items.map(({ id }) => id)).toEqual([odd?.id]);
    expect((await listed('9007199254740992')).items.map(({ id }) => id)).toEqual([even?.id]);
  });

  it('are kept exactly in the contents of a list', async () => {
    const name = await deployed();
    const { id } = await jsonOf<Run>(post(name, exact));
    await door.store.runContents.put(id, 'result', Buffer.from('[1.10]'));
    const result = { contentType: 'application/json', bytes: 6, digest: 'd', partial: false };
    await ended(id, 'succeeded', { result });
    const listed = await (await door.call('GET', `/v1/runs?function=${name}&contents=true`)).text();
    expect(listed).toContain(`"contents":{"input":${exact},"result":[1.10]}`);
    const plain = await jsonOf<{ items: object[] }>(door.call('GET', `/v1/runs?function=${name}`));
    expect(plain.items[0]).not.toHaveProperty('contents');
  });

  it('are compared exactly in the data of a waitpoint', async () => {
    const { id } = await jsonOf<Run>(post(await deployed(), {}));
    const { path } = await jsonOf<{ path: string }>(door.call('POST', `/v1/runs/${id}/waitpoints`, {}));
    expect((await door.call('POST', path, `{"data": ${exact}}`)).status).toBe(200);
    expect(
      (await door.call('POST', path, `{"data": ${exact.replaceAll(' ', '').replace('1.10', '1.1')}}`)).status,
    ).toBe(200);
    expect((await door.call('POST', path, `{"data": ${exact.replace('993', '992')}}`)).status).toBe(409);
    const [waitpoint] = await door.store.waitpoints.list(id);
    expect(waitpoint?.data).toBe(exact);
  });
});

async function stored(name: string): Promise<string> {
  const { items } = await eventually(
    () => jsonOf<{ items: Run[] }>(door.call('GET', `/v1/runs?function=${name}`)),
    (page) => page.items.length > 0,
  );
  return items[0]?.id ?? '';
}

async function ended(id: string, outcome: 'succeeded' | 'failed' | 'timed-out' | 'unknown', changes: object = {}) {
  const endedAt = new Date().toISOString();
  expect(await door.store.runs.end(id, ['queued'], { outcome, endedAt, ...changes }, 7)).toBe(true);
}
