import type { Logger } from 'pino';
import { RECONCILER } from '../../../model/sagas/reconcile.ts';
import type { Reconciliation } from '../../../sagas/reconciliation.ts';
import type { Store } from '../../../store/connect.ts';

/** What is kept is kept for days. Milliseconds. */
export const LOOK_AT_KEPT_EVERY_MS = 60_000;
/** Of one look. */
const AT_ONCE = 100;

/** Has the snapshots of failed runs deleted that are to be kept no longer. */
export class KeptFailures {
  constructor(
    private readonly store: Pick<Store, 'snapshots'>,
    private readonly reconciliation: Pick<Reconciliation, 'deleteSnapshot'>,
    private readonly logger: Logger,
  ) {}

  /** @param now ISO 8601. `@default` the present time */
  async look(now = new Date().toISOString()): Promise<void> {
    try {
      for (const { id: snapshotId, hostId, installationId = null } of await this.store.snapshots.past(now, AT_ONCE)) {
        await this.reconciliation.deleteSnapshot({ snapshotId, hostId, installationId, actor: RECONCILER });
      }
    } catch (error) {
      this.logger.warn({ err: error }, 'what was kept of failed runs stays for another minute');
    }
  }
}
