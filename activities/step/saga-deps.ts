import type { Store } from '../../store/connect.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';

/** What activities of the control queue work with: what has happened, and what must still happen. */
export interface SagaDeps {
  store: Store;
  reconciliation: Reconciliation;
}
