import { expect, test } from 'vitest';
import { Bell } from '../../host/os/bell.ts';

test('a bell: a ring before anybody listens is heard, many while one looks are one, and the abort ends it', async () => {
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
