import { afterEach, expect } from 'vitest';
import { OPEN_STATES } from '../../model/sandbox/sandbox-state.ts';
import { TestMayfly } from './mayfly.ts';
import { useOpened } from './use-opened.ts';

/** Mayfly for the tests of a file. After each test, faults are lifted, sandboxes ended, and residue fails the test. */
export function useMayfly(): () => TestMayfly {
  const running = useOpened(
    () => TestMayfly.start(),
    (mayfly) => mayfly.stop(),
  );
  afterEach(async () => {
    const mayfly = running();
    mayfly.failpoints.arm(undefined);
    if (!mayfly.host) await mayfly.startHost();
    for (const { id } of await mayfly.store.sandboxes.all(OPEN_STATES)) await mayfly.destroy({ ...mayfly.input(), id });
    expect(await mayfly.residue()).toEqual([]);
  });
  return running;
}
