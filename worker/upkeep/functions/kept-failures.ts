import { RECONCILER } from '../../../model/sagas/reconcile.ts';
import type { Store } from '../../../store/connect.ts';
import type { Reconciliation } from '../../../temporal/reconciliation.ts';

/** Of one look. */
const AT_ONCE = 100;

/** Has the snapshots of failed runs deleted that are to be kept no longer. */
export class KeptFailures {
  constructor(
    private readonly store: Pick<Store, 'snapshots'>,
    private readonly reconciliation: Pick<Reconciliation, 'snapshots'>,
  ) {}

  /** @param now ISO 8601. `@default` the present time */
  async look(now = new Date().toISOString()): Promise<void> {
    for (const { id: snapshotId, hostId, installationId } of await this.store.snapshots.past(now, AT_ONCE)) {
      await this.reconciliation.snapshots.delete({ snapshotId, hostId, installationId, actor: RECONCILER });
    }
  }
}
