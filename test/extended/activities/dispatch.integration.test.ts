import { expect, it } from 'vitest';
import { useDispatcher } from '../../activities/dispatch-cases.ts';

const { store, admit, deploy, queue, getStates } = useDispatcher();

it('keys beyond the limit of one poll are read by the next, after a pause', async () => {
  const name = await deploy({ concurrency: [{ limit: 1, key: '/k', onFull: 'queue' }] });
  const keys = Array.from({ length: 205 }, (_, n) => JSON.stringify(`k${n}`));
  const runs = await Promise.all(keys.map((lane) => queue(name, { keys: [lane], lane })));
  const lookAfter = (after: string) => admit(name, after);
  for (let found = await lookAfter(''); found.isMore; ) found = await lookAfter(found.after);
  expect(new Set(await getStates(runs))).toEqual(new Set(['preparing']));
  await Promise.all(keys.map((lane) => queue(name, { keys: [lane], lane })));
  const first = await lookAfter('');
  const next = await lookAfter(first.after); // it reaches the last key, and starts over
  for (const each of [first, next]) {
    expect(each).toMatchObject({ isEmpty: false, isMore: false, waitMs: expect.any(Number) });
  }
  expect((await store().runQueue.next({ project: 'default', name }, first.after))?.key).toBeDefined();
});
