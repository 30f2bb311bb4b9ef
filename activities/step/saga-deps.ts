import type { Store } from '../../store/connect.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';

/** Dependencies of control activities: the store, and the client of workflows. */
export interface SagaDeps {
  store: Store;
  reconciliation: ControlTemporalClient;
}
