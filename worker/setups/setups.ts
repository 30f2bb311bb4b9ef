import { setupWorkflowId } from '../../model/functions/setup/setup-saga.ts';
import type { Store } from '../../store/connect.ts';
import { releaseSetup } from '../../store/functions/setup/ensured-setup.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';

/**
 * Time during which a removal is signalled again to the setup's workflow, ms; later the workflow notices at its end.
 */
const REMOVAL_SIGNAL_MS = 60_000;

/** Polls setups without a wake signal: whose requester died, whose workflow was lost, or that no version needs. */
export class SetupPoller {
  constructor(
    private readonly store: Store,
    private readonly reconciliation: Pick<ControlTemporalClient, 'resume' | 'functions'>,
  ) {}

  async look(): Promise<void> {
    const { functionSetups } = this.store;
    const lately = new Date(Date.now() - REMOVAL_SIGNAL_MS).toISOString();
    for (const { project, key: setupKey, state, updatedAt } of await functionSetups.open()) {
      const setup = { project, setupKey };
      if (state === 'removing' && updatedAt > lately) await this.reconciliation.functions.removeSetup(setup);
      else
        await this.reconciliation.resume(setupWorkflowId(setup), () => this.reconciliation.functions.startSetup(setup));
    }
  }

  /** Checks all setups for versions that need them. */
  async release(): Promise<void> {
    for (const setup of await this.store.functionSetups.all()) await releaseSetup(this.store, setup);
  }
}
