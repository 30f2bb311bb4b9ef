import { test as base, expect } from 'vitest';
import { TestDoor } from './door.ts';
import { type TestHostKind, TestMayfly } from './mayfly.ts';
import { MayflyCase } from './mayfly-case.ts';
import { TestOperations } from './operations.ts';
import { tier } from './sweep.ts';
import { useOpened } from './use-opened.ts';

/** Fixtures of a saga test. Each cleans up only its own resources. */
interface SagaFixtures {
  mayfly: MayflyCase;
  operations: TestOperations;
}

/**
 * Provides Mayfly for concurrent tests of a file (`test`; `alone` is sequential). Each test ends its own sandboxes; the
 * last leaves no residue, and outside `npm test` each run must replay. @param kind of the host. `@default` simulated
 */
export function useSagaCases({ kind = 'simulated' as TestHostKind, env = (): NodeJS.ProcessEnv => ({}) } = {}) {
  let door: TestDoor | null = null;
  const running = useOpened(
    async () => {
      const all = await TestMayfly.start(env(), kind);
      if (kind === 'simulated') door = await TestDoor.open(all);
      return all;
    },
    async (all) => {
      try {
        if (tier() !== 'quick') expect(await all.runsThatReplayOtherwise()).toEqual([]);
        expect(await all.residue()).toEqual([]);
        expect(await all.onHost()).toEqual([]);
        expect(all.failpoints.armed).toBe(false);
      } finally {
        door?.close();
        await all.stop();
      }
    },
  );
  const alone = base.extend<SagaFixtures>({
    mayfly: async ({ task }, use) => {
      const mayfly = new MayflyCase(running(), task.name);
      await use(mayfly);
      await mayfly.close();
    },
    operations: async ({ mayfly }, use) => {
      const operations = new TestOperations(mayfly, door);
      await use(operations);
      mayfly.disarm();
      await operations.clear();
    },
  });
  return { test: alone.concurrent, alone, mayfly: running };
}
