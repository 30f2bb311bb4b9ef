import type { SnapshotKind, SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { actorOf, type IdempotentCall } from '../idempotent-call.ts';
import { requireSnapshot, type ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';

/**
 * Takes a snapshot of a sandbox and waits until it is saved. The same request again joins the first one; its sandbox may
 * have ended since then.
 * @returns its record when the wait is over
 * @throws MayflyError sandbox_not_running, sandbox_ended, sandbox_busy, snapshot_unsupported, snapshot_name_taken
 */
export async function takeSnapshot(
  deps: Pick<ServiceDeps, 'store' | 'sagas' | 'logger'>,
  call: IdempotentCall,
  sandboxId: string,
  { name, kind = 'disk' }: { name?: string | undefined; kind?: SnapshotKind | undefined },
  wait: WaitLimit,
): Promise<SnapshotRecord> {
  const { sandboxes } = deps.sagas;
  const { subjectId: operationId, isFresh } = call;
  if (isFresh || !(await deps.store.snapshots.get(operationId))) {
    const actor = actorOf(call);
    const operation = { kind: 'snapshot', operationId, name: name ?? operationId, snapshotKind: kind, actor } as const;
    await sandboxes.operate(sandboxId, operation);
  }
  await waitWithin(deps, wait, async (signal) => {
    await sandboxes.operated(sandboxId, operationId, signal);
  });
  return requireSnapshot(deps, operationId);
}
