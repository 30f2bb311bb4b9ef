import { afterAll, test as base, beforeAll, expect } from 'vitest';
import { TestDoor } from './door.ts';
import { type TestHostKind, TestMayfly } from './mayfly.ts';
import { MayflyCase } from './mayfly-case.ts';
import { TestOperations } from './operations.ts';
import { tier } from './sweep.ts';

/** What a test of a saga is given. Each gives back only what is the test's own. */
interface SagaFixtures {
  mayfly: MayflyCase;
  operations: TestOperations;
}

/**
 * One Mayfly for the tests of a file, which run side by side: `test` is concurrent, `alone` is not, for what stops a
 * worker; `mayfly` is all of it, for helpers that do without a test. After each test its own sandboxes and snapshots are ended; after the last nothing at all may be left, and
 * each run must replay (outside `npm test`, where recorded lives are replayed).
 * @param kind of the host. `@default` simulated
 */
export function useSagaCases({ kind = 'simulated' as TestHostKind, env = (): NodeJS.ProcessEnv => ({}) } = {}) {
  let all: TestMayfly | undefined;
  let door: TestDoor | null = null;
  const running = () => {
    if (!all) throw new Error('Mayfly has not been started');
    return all;
  };
  beforeAll(async () => {
    all = await TestMayfly.start(env(), kind);
    if (kind === 'simulated') door = await TestDoor.open(all);
  });
  afterAll(async () => {
    try {
      if (tier() !== 'quick') expect(await running().runsThatReplayOtherwise()).toEqual([]);
      expect(await running().residue()).toEqual([]);
      expect(await running().onHost()).toEqual([]);
      expect(running().failpoints.armed).toBe(false);
    } finally {
      door?.close();
      await all?.stop();
    }
  });
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
