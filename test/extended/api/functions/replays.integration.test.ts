import { describe, expect, it } from 'vitest';
import type { RunOutcome } from '../../../../model/functions/run-state.ts';
import { jsonOf, problemOf, useDoor } from '../../../api/support.ts';
import { eventually } from '../../../support/eventually.ts';

interface Run {
  id: string;
  version: number;
  event: { id: string; source: string; type: string };
  replayOf: string | null;
  redriveOf: string | null;
  redrivenAs: string | null;
}

const door = useDoor();

let count = 0;
/** Deploys a function of five versions. @returns its name */
async function deployed(more: object = {}): Promise<string> {
  const name = `fn-${++count}`;
  for (const n of [1, 2, 3, 4, 5]) await deploy(name, n, more);
  return name;
}

async function deploy(name: string, n: number, more: object = {}): Promise<void> {
  const wish = { source: 'golden', command: `echo ${n}`, ...more };
  expect((await door.call('PUT', `/v1/functions/${name}`, wish)).status).toBe(201);
}

const trigger = (name: string, data: unknown) => jsonOf<Run>(door.call('POST', `/v1/functions/${name}/runs`, data));
const post = (id: string, act: string, body?: unknown, headers: Record<string, string> = {}) =>
  door.call('POST', `/v1/runs/${id}/${act}`, body, headers);
const get = (id: string) => jsonOf<Run>(door.call('GET', `/v1/runs/${id}`));

async function eventOf(id: string): Promise<string> {
  return Buffer.from((await door.store.runs.eventOf(id)) ?? []).toString();
}

async function end(id: string, outcome: RunOutcome): Promise<void> {
  const at = new Date().toISOString();
  expect(await door.store.runs.end(id, ['queued'], { outcome, endedAt: at, updatedAt: at }, 7)).toBe(true);
}

async function listed(query: string): Promise<string[]> {
  return (await jsonOf<{ items: Run[] }>(door.call('GET', `/v1/runs?${query}`))).items.map(({ id }) => id);
}

describe('a replay', () => {
  it('has the requested version and event, and is marked (case 33)', async () => {
    const name = await deployed();
    expect((await door.call('POST', `/v1/functions/${name}/versions/3/activate`)).status).toBe(200);
    const old = await eventually(() => trigger(name, { n: 1 }), { version: 3 });
    expect((await door.call('POST', `/v1/functions/${name}/versions/5/activate`)).status).toBe(200);
    const same = await post(old.id, 'replay', {});
    const replay = await jsonOf<Run>(same);
    expect([old.version, same.status, same.headers.get('Location')]).toEqual([3, 202, `/v1/runs/${replay.id}`]);
    expect(replay).toMatchObject({ version: 3, event: old.event, replayOf: old.id, redriveOf: null });
    expect(await eventOf(replay.id)).toBe(await eventOf(old.id));
    const text =
      '{"version":"same","event":{"type":"edited","data":{"n":12345678901234567890,"s":"\\u0041}"}},"version":"same"}';
    const edited = await jsonOf<Run>(post(old.id, 'replay', text));
    expect(edited).toMatchObject({ version: 3, event: { ...old.event, type: 'edited', time: null }, replayOf: old.id });
    expect(await eventOf(edited.id)).toContain('"data":{"n":12345678901234567890,"s":"\\u0041}"}');
    expect(new Set([old.id, replay.id, edited.id]).size).toBe(3);
    expect(await get(old.id)).toMatchObject({ replayOf: null, redrivenAs: null });
  });

  it('of the current version uses it, and of a deleted one is refused', async () => {
    const name = await deployed();
    const old = await trigger(name, {});
    await deploy(name, 6);
    await eventually(() => jsonOf<Run>(post(old.id, 'replay', { version: 'current' })), { version: 6 });
    await door.store.functionVersions.remove({ project: 'default', name }, 5);
    expect((await problemOf(post(old.id, 'replay', {}))).code).toBe('function_gone');
  });

  it('is never a duplicate of the original, and of another only by its key', async () => {
    const name = await deployed();
    const key = { 'Idempotency-Key': 'once' };
    const old = await jsonOf<Run>(door.call('POST', `/v1/functions/${name}/runs`, { n: 1 }, key));
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(old.id, 'replay', {}, key)));
    const ids = await Promise.all(answers.map(async (each) => (await jsonOf<Run>(each)).id));
    expect(new Set(ids).size).toBe(1);
    expect(ids).not.toContain(old.id);
    expect(answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true')).toHaveLength(9);
    const other = await post(old.id, 'replay', { event: { data: 2 } }, key);
    expect([other.status, (await problemOf(other)).code]).toEqual([422, 'idempotency_key_reused']);
    expect((await jsonOf<Run>(post(old.id, 'replay', {}))).id).not.toBe(
      (await jsonOf<Run>(post(old.id, 'replay', {}))).id,
    );
  });

  it.each([
    ['an event that is none', { event: { specversion: '2.0' } }, 400, 'invalid_event'],
    ['data that does not fit', { event: { data: 'one' } }, 422, 'event_invalid'],
    ['an unknown field', { versions: 'same' }, 422, 'invalid_request'],
  ])('with %s is refused', async (_what, body, status, code) => {
    const name = await deployed({ input: { schema: { type: 'integer' } } });
    const { id } = await trigger(name, 1);
    const refused = await post(id, 'replay', body);
    expect([refused.status, (await problemOf(refused)).code]).toEqual([status, code]);
  });

  it('has the complete event, also if that is stored separately', async () => {
    const name = await deployed();
    const text = 'x'.repeat(100_000);
    const { id } = await jsonOf<Run>(post((await trigger(name, { text })).id, 'replay', {}));
    const { eventDigest } = (await door.store.runs.get(id)) ?? { eventDigest: '' };
    const kept = await door.store.runContents.get(id, `event/${eventDigest}`);
    expect(JSON.parse(Buffer.from(kept ?? []).toString())).toMatchObject({ data: { text } });
  });
});

describe('a dead letter', () => {
  it('is redriven once, for any number of requests, and is listed until then', async () => {
    const name = await deployed();
    const old = await trigger(name, { n: 1 });
    await end(old.id, 'failed');
    const well = await trigger(name, { n: 2 });
    await end(well.id, 'succeeded');
    expect(await listed(`function=${name}&deadLetter=true`)).toEqual([old.id]);
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(old.id, 'redrive')));
    const ids = await Promise.all(answers.map(async (each) => (await jsonOf<Run>(each)).id));
    expect(new Set(ids).size).toBe(1);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([...Array(9).fill(200), 202]);
    expect(await get(ids[0] ?? '')).toMatchObject({ replayOf: old.id, redriveOf: old.id, version: 5 });
    expect(await get(old.id)).toMatchObject({ redrivenAs: ids[0] });
    expect(await listed(`function=${name}&deadLetter=true`)).toEqual([]);
    expect(await listed(`function=${name}`)).toHaveLength(3);
  });

  it('whose redrive was stored but not marked returns that run', async () => {
    const name = await deployed();
    const old = await trigger(name, {});
    await end(old.id, 'expired');
    const { id } = await jsonOf<Run>(post(old.id, 'redrive'));
    await door.store.runs.change(old.id, ['ended'], { redrivenAs: null });
    await end(id, 'failed'); // a dead letter in turn, with its own redrive
    await deploy(name, 6);
    const again = await post(old.id, 'redrive');
    expect([again.status, (await jsonOf<Run>(again)).id]).toEqual([200, id]);
    expect((await jsonOf<Run>(post(id, 'redrive'))).id).not.toBe(id);
  });

  it.each<RunOutcome>(['succeeded', 'cancelled', 'skipped'])('is not a run that is %s', async (outcome) => {
    const { id } = await trigger(await deployed(), {});
    expect((await problemOf(post(id, 'redrive'))).code).toBe('not_dead_letter');
    await end(id, outcome);
    expect((await problemOf(post(id, 'redrive'))).code).toBe('not_dead_letter');
  });
});

describe('the events of a run', () => {
  const stream = (id: string, last?: string) =>
    door.call('GET', `/v1/runs/${id}/events`, undefined, last === undefined ? {} : { 'Last-Event-ID': last });

  it('report each change, and end after its cleanup', async () => {
    const { id } = await trigger(await deployed(), {});
    const reader = (await stream(id)).body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = (await reader?.read())?.value ?? '';
    expect(first).toContain('event: run\ndata: {');
    expect(first).toContain('"state":"queued"');
    const last = /^id: ([0-9a-f]{16})$/m.exec(first)?.[1] ?? '';
    await door.store.runs.change(id, ['queued'], { waitingFor: 'concurrency' });
    expect((await reader?.read())?.value).toContain('"waitingFor":"concurrency"');
    await end(id, 'cancelled');
    expect((await reader?.read())?.value).toContain('"outcome":"cancelled"');
    expect((await reader?.read())?.done).toBe(true);
    const whole = await (await stream(id, last)).text();
    expect(whole.match(/^event: run$/gm)).toHaveLength(1);
    const known = /^id: (.*)$/m.exec(whole)?.[1] ?? '';
    expect(await (await stream(id, known)).text()).toBe('');
  });

  it('are refused for an unknown run or event id', async () => {
    expect((await stream('run-0000000000000000')).status).toBe(404);
    expect((await stream((await trigger(await deployed(), {})).id, 'x')).status).toBe(422);
  });
});

describe('a list of runs', () => {
  it('is filtered by key, text or number, and by an instant', async () => {
    const name = await deployed({ concurrency: [{ limit: 1, key: '/who' }] });
    const [text, number, other] = [
      await trigger(name, { who: '7' }),
      await trigger(name, { who: 7 }),
      await trigger(name, {}),
    ];
    expect((await listed(`function=${name}&key=7`)).toSorted()).toEqual([text.id, number.id].toSorted());
    expect(await listed(`function=${name}&key=%227%22`)).toEqual([text.id]);
    expect(await listed(`function=${name}&key=8`)).toEqual([]);
    const { acceptedAt } = (await door.store.runs.get(other.id)) ?? { acceptedAt: '' };
    expect(await listed(`function=${name}&since=${acceptedAt}`)).toContain(other.id);
    const later = new Date(Date.parse(acceptedAt) + 3_600_001);
    const inZone = encodeURIComponent(later.toISOString().replace('Z', '+01:00')); // a millisecond after it
    expect(await listed(`function=${name}&since=${inZone}`)).toEqual([]);
    expect((await door.call('GET', '/v1/runs?since=yesterday')).status).toBe(422);
  });

  it('continues from its cursor, despite newer runs', async () => {
    const name = await deployed();
    const since = new Date().toISOString();
    const ids: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) ids.unshift((await trigger(name, n)).id);
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await jsonOf<{ items: Run[]; nextCursor: string | null }>(
        door.call('GET', `/v1/runs?function=${name}&since=${since}&limit=2${cursor}`),
      );
      seen.push(...page.items.map(({ id }) => id));
      if (page.nextCursor === null) break;
      await trigger(name, { isLater: true });
      cursor = `&cursor=${page.nextCursor}`;
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });
});
