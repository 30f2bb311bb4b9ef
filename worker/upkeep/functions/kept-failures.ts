import { RECONCILER } from '../../../model/sagas/reconcile.ts';
import type { Store } from '../../../store/connect.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';

/** Maximum number per poll. */
const AT_ONCE = 100;

/** Deletes snapshots of failed runs whose retention has expired. */
export class RetentionExpiry {
  constructor(
    private readonly store: Pick<Store, 'snapshots'>,
    private readonly reconciliation: Pick<ControlTemporalClient, 'snapshots'>,
  ) {}

  /** @param now ISO 8601. `@default` the present time */
  async look(now = new Date().toISOString()): Promise<void> {
    for (const { id: snapshotId, hostId, installationId } of await this.store.snapshots.past(now, AT_ONCE)) {
      await this.reconciliation.snapshots.delete({ snapshotId, hostId, installationId, actor: RECONCILER });
    }
  }
}
