import { Context } from '@temporalio/activity';
import { MayflyError } from '../../model/errors.ts';
import type { SnapshotOperation } from '../../model/sagas/messages.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { pollUntil } from '../step/until.ts';

/**
 * Takes a snapshot, once, and waits for it.
 * @param request the operation's id is the snapshot's id and default name. `@default` disks only
 * @returns the ready snapshot
 * @throws MayflyError its failure
 */
export async function takeSnapshot(
  { store, reconciliation }: { store: Store; reconciliation: Pick<ControlTemporalClient, 'sandboxes'> },
  sandboxId: string,
  request: Pick<SnapshotOperation, 'operationId' | 'reason' | 'keptOf' | 'actor'> &
    Partial<Pick<SnapshotOperation, 'name' | 'snapshotKind'>>,
): Promise<SnapshotRecord> {
  const { operationId: id } = request;
  if (!(await store.snapshots.get(id))) {
    await reconciliation.sandboxes.operate(sandboxId, { kind: 'snapshot', name: id, snapshotKind: 'disk', ...request });
  }
  const over = reconciliation.sandboxes.operated(sandboxId, id, Context.current().cancellationSignal);
  const snapshot = await pollUntil(async () => {
    const found = await store.snapshots.get(id);
    return found && found.state !== 'creating' ? found : null;
  }, over);
  if (snapshot.state === 'ready') return snapshot;
  const { code, message } = snapshot.failure ?? { code: 'snapshot_failed' as const, message: snapshot.state };
  throw new MayflyError(code, message);
}
