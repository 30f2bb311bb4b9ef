import { expect, it } from 'vitest';
import { collectWhenIdle } from '../../worker/machine/idle-memory.ts';

/** Creates an unreferenced object too large to be collected by other allocations. */
function garbage(): WeakRef<object> {
  return new WeakRef(Array.from({ length: 1_000_000 }, (_, index) => ({ index })));
}

it('collects garbage after work once the process is idle', async () => {
  const end = collectWhenIdle(200);
  const left = garbage();
  await expect.poll(() => left.deref() === undefined, { interval: 500 }).toBe(true);
  await end();
});
