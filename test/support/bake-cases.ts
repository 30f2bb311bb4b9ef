import { expect } from 'vitest';
import { Bakery } from './baked.ts';
import { useSagaCases } from './saga-cases.ts';

interface MemoryBakery extends Bakery {
  /** Returns names of this test that have images on the host, complete or partial. */
  images(): string[];
}

/**
 * Extends {@link useSagaCases} on the host in memory: a sandbox and a snapshot per test. Afterwards no image may be
 * incomplete.
 */
export function useBakeCases() {
  const { alone, mayfly } = useSagaCases({ kind: 'in-memory' });
  const test = alone.extend<{ bakery: MemoryBakery }>({
    bakery: async ({ mayfly: own, operations }, use) => {
      const { memory } = own;
      if (!memory) throw new Error('there is no machine in memory');
      const { id } = await own.create();
      await operations.write(id, 'kept');
      const bakery = new Bakery(own, await operations.snapshot(id));
      const images = () => [...memory.images.keys(), ...memory.staged.keys()].filter((name) => bakery.isMade(name));
      await use(Object.assign(bakery, { images }));
      own.disarm();
      await bakery.clear(images());
      expect(images()).toEqual([]);
    },
  });
  return { test, mayfly };
}
