import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { BacklogLimit } from '../../../../services/intake/acceptance.ts';
import { noGuests, problemOf, useDoor } from '../../../api/support.ts';

/** Promise: a single key cannot fill the queue, at almost no cost. Seconds. */
const door = useDoor(noGuests, { queueLimits: { runs: 1_000, bytes: 1_000_000, runsOfKey: 2 } });

const logger = pino({ level: 'silent' });
const deploy = async (name: string, more: object) => {
  const wish = { source: 'golden', command: 'cat', ...more };
  expect((await door.call('PUT', `/v1/functions/${name}`, wish)).status).toBe(201);
  await door.call('POST', `/v1/functions/${name}/pause`);
};
const post = (name: string, customer: string, n: number) =>
  door.call('POST', `/v1/functions/${name}/runs`, { customer, n });

it('a key has a limit of queued runs, and other keys and functions are not affected', async () => {
  await deploy('keyed', { concurrency: [{ limit: 1, key: '/customer' }] });
  await deploy('other', { concurrency: [{ limit: 1, key: '/customer' }] });
  await deploy('keyless', {});
  for (const n of [1, 2]) expect((await post('keyed', 'a', n)).status).toBe(202);
  const refused = await post('keyed', 'a', 3);
  expect([refused.status, (await problemOf(refused)).code]).toEqual([429, 'queue_full']);
  expect((await post('keyed', 'b', 1)).status).toBe(202);
  expect((await post('other', 'a', 1)).status).toBe(202);
  for (const n of [1, 2, 3]) expect((await post('keyless', 'a', n)).status).toBe(202);
  expect(await door.store.runQueue.countOfKey({ project: 'default', name: 'keyed' }, '"a"', 10)).toBe(2);
});

it('a rare key is never counted, a frequent one is, one at a time, and no request waits for it', () => {
  const limit = new BacklogLimit(logger, { most: { runs: 1_000, bytes: 1 }, countedAfter: 100 });
  const counts: string[] = [];
  const never = (key: string) => () => {
    counts.push(key);
    return new Promise<never>(() => undefined);
  };
  const come = (key: string, times: number) => {
    for (let n = 0; n < times; n++) {
      expect(limit.isFull(key, never(key))).toBe(false);
      limit.add(key);
    }
  };
  for (let n = 0; n < 500; n++) come(`few-${n}`, 3);
  expect(counts).toEqual([]);
  come('much', 200);
  come('more', 200);
  expect(counts).toEqual(['much']);
});

it('a recount frees room for finished runs, and an unavailable store changes nothing', async () => {
  const limit = new BacklogLimit(logger, { most: { runs: 5, bytes: 1 }, countedAfter: 100 });
  for (let n = 0; n < 5; n++) limit.add('k');
  const away = () => Promise.reject(new Error('away'));
  expect(limit.isFull('k', away)).toBe(true);
  await new Promise(setImmediate);
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 20_000);
  try {
    expect(limit.isFull('k', () => Promise.resolve({ runs: 1, bytes: 0 }))).toBe(true);
    await new Promise(setImmediate);
    expect(limit.isFull('k', away)).toBe(false);
  } finally {
    clock.mockRestore();
  }
});
