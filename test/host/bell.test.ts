import { expect, test } from 'vitest';
import { Bell } from '../../host/os/bell.ts';

test('a bell keeps a ring before the first listener, merges rings while one is handled, and ends on abort', async () => {
  const bell = new Bell();
  const stop = new AbortController();
  const heard: number[] = [];
  bell.ring();
  let nth = 0;
  for await (const _ of bell.rings(stop.signal)) {
    heard.push(++nth);
    if (nth === 1) for (let more = 0; more < 5; more++) bell.ring();
    if (nth === 2) setImmediate(() => bell.ring());
    if (nth === 3) setImmediate(() => stop.abort());
  }
  expect(heard).toEqual([1, 2, 3]);
});
