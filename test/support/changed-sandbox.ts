import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { MayflyCase } from './mayfly-case.ts';
import type { TestOperations } from './operations.ts';

/** Creates a running sandbox with a snapshot that has file `old`, and `new` on its disk. */
export async function changedSandbox(
  mayfly: MayflyCase,
  operations: TestOperations,
  timeouts: Partial<Timeouts> = {},
): Promise<{ id: string; snapshot: SnapshotRecord }> {
  const { id } = await mayfly.create(mayfly.input({}, timeouts));
  await operations.write(id, 'old');
  const snapshot = await operations.snapshot(id);
  await operations.write(id, 'new');
  return { id, snapshot };
}
