import { pino } from 'pino';
import { expect, it } from 'vitest';
import { BacklogLimit } from '../../../../services/intake/acceptance.ts';
import { jsonOf, noGuests, problemOf, useDoor } from '../../../api/support.ts';

const door = useDoor(noGuests, { queueLimits: { runs: 3, bytes: 400_000 } });

const deploy = async (name: string) => {
  expect((await door.call('PUT', `/v1/functions/${name}`, { source: 'golden', command: 'cat' })).status).toBe(201);
  await door.call('POST', `/v1/functions/${name}/pause`);
};
const post = (name: string, body: unknown, headers: Record<string, string> = {}, query = '') =>
  door.call('POST', `/v1/functions/${name}/runs${query}`, body, headers);

it('a project has a limit of waiting runs, delayed ones included; duplicates are still answered', async () => {
  await deploy('first');
  await deploy('second');
  const known = { 'Idempotency-Key': 'known' };
  const { id } = await jsonOf<{ id: string }>(post('first', { n: 1 }, known));
  expect((await post('first', { n: 2 }, {}, '?delaySeconds=3600')).status).toBe(202);
  expect((await post('second', { n: 3 })).status).toBe(202);
  const refused = await post('second', { n: 4 });
  expect([refused.status, (await problemOf(refused)).code]).toEqual([429, 'queue_full']);
  expect(refused.headers.get('Retry-After')).toBe('10');
  const again = await post('first', { n: 1 }, known);
  expect([again.status, (await jsonOf<{ id: string }>(again)).id]).toEqual([202, id]);
  const other = await post('first', { n: 5 }, known);
  expect((await problemOf(other)).code).toBe('idempotency_key_reused');
});

it('the limit also counts the bytes of their events', async () => {
  await door.store.projects.create('large', { sources: ['golden'] });
  const secret = await door.key.in('large', 'sandboxes:write', 'sandboxes:read');
  const call = (method: string, path: string, body?: unknown) => door.call(method, path, body, {}, secret);
  expect((await call('PUT', '/v1/functions/first', { source: 'golden', command: 'cat' })).status).toBe(201);
  await call('POST', '/v1/functions/first/pause');
  expect((await call('POST', '/v1/functions/first/runs', JSON.stringify('x'.repeat(350_000)))).status).toBe(202);
  expect((await problemOf(await call('POST', '/v1/functions/first/runs', {}))).code).toBe('queue_full');
  const { runs, bytes } = await door.store.runQueue.waiting('large');
  expect([runs, bytes > 400_000]).toEqual([1, true]);
  const [run] = (await door.store.runs.list({ project: 'large', limit: 5 })).items;
  await door.store.runs.end(run?.id ?? '', ['queued'], { outcome: 'cancelled', endedAt: new Date().toISOString() }, 1);
  expect(await door.store.runQueue.waiting('large')).toEqual({ runs: 0, bytes: 0 });
});

it('waiting runs are counted by one query at a time, and no request waits long for it', async () => {
  const limit = new BacklogLimit(pino({ level: 'silent' }), { most: { runs: 1, bytes: 1 } });
  let counts = 0;
  const never = () => {
    counts += 1;
    return new Promise<never>(() => undefined);
  };
  const asked = Array.from({ length: 100 }, () => limit.isFullOnceCounted('default', never));
  expect(new Set(await Promise.all(asked))).toEqual(new Set([false]));
  expect(counts).toBe(1);
});
