import { expect, it } from 'vitest';
import { collectWhenIdle } from '../../worker/machine/idle-memory.ts';

/** Something that nobody holds, and that no allocation drives out. */
function garbage(): WeakRef<object> {
  return new WeakRef(Array.from({ length: 1_000_000 }, (_, index) => ({ index })));
}

it('collects what work has left once nothing happens', async () => {
  const end = collectWhenIdle(200);
  const left = garbage();
  await expect.poll(() => left.deref() === undefined, { interval: 500 }).toBe(true);
  await end();
});
