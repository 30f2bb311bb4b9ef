import { setupWorkflowIdOf } from '../../model/functions/setup/setup-saga.ts';
import type { Store } from '../../store/connect.ts';
import { releaseSetup } from '../../store/functions/setup/ensured-setup.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';

/**
 * Time during which a removal is signalled again to the setup's workflow, ms; later the workflow notices at its end.
 */
const TOLD_FOR_MS = 60_000;

/** Polls setups without a wake signal: whose requester died, whose workflow was lost, or that no version needs. */
export class Setups {
  constructor(
    private readonly store: Store,
    private readonly reconciliation: Pick<Reconciliation, 'resume' | 'functions'>,
  ) {}

  async look(): Promise<void> {
    const { functionSetups } = this.store;
    const lately = new Date(Date.now() - TOLD_FOR_MS).toISOString();
    for (const { project, key: setupKey, state, updatedAt } of await functionSetups.open()) {
      const setup = { project, setupKey };
      if (state === 'removing' && updatedAt > lately) await this.reconciliation.functions.removeSetup(setup);
      else
        await this.reconciliation.resume(setupWorkflowIdOf(setup), () =>
          this.reconciliation.functions.startSetup(setup),
        );
    }
  }

  /** Checks all setups for versions that need them. */
  async release(): Promise<void> {
    for (const setup of await this.store.functionSetups.all()) await releaseSetup(this.store, setup);
  }
}
