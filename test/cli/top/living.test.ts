import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LiveList } from '../../../cli/top/screen/living.ts';
import type { LiveSandbox } from '../../../cli/top/sections/sandboxes.ts';

const PAGE = 5;
const sandbox = (n: number) =>
  ({ id: `sbx-${n % 7}${n}`, createdAt: new Date(Math.floor(n / 3) * 1_000).toISOString() }) as LiveSandbox;
const order = (a: LiveSandbox, b: LiveSandbox) =>
  a.createdAt === b.createdAt ? (a.id > b.id ? -1 : 1) : a.createdAt > b.createdAt ? -1 : 1;

/** Returns a page as the API does: the sandboxes after the cursor's, which may be gone. */
function pageOf(there: readonly LiveSandbox[], cursor: string) {
  const after = cursor === '' ? null : (JSON.parse(cursor) as LiveSandbox);
  const behind = there.filter((one) => after === null || order(after, one) < 0);
  const last = behind[PAGE - 1];
  return { items: behind.slice(0, PAGE), nextCursor: last && behind.length > PAGE ? JSON.stringify(last) : null };
}

it('the list is exact after a round, from any previous state', () => {
  const change = fc.record({
    come: fc.array(fc.nat(120), { maxLength: 12 }),
    go: fc.array(fc.nat(120), { maxLength: 12 }),
    at: fc.nat(60),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const there = new Map<string, LiveSandbox>();
      const sorted = () => [...there.values()].sort(order);
      const living = new LiveList();
      const read = (from = living.next) => living.merge(from, pageOf(sorted(), from.cursor));
      for (const { come, go, at } of changes) {
        for (const one of come.map(sandbox)) there.set(one.id, one);
        for (const one of go.map(sandbox)) there.delete(one.id);
        read();
        read(living.pageOf(at));
        const ids = living.items.map(({ id }) => id);
        expect([new Set(ids).size, living.items.toSorted(order)]).toEqual([ids.length, living.items]);
      }
      for (let n = 0; n < 60; n++) read();
      expect(living.items.map(({ id }) => id)).toEqual(sorted().map(({ id }) => id));
      expect(living.isAll).toBe(true);
    }),
    { numRuns: 300 },
  );
});
