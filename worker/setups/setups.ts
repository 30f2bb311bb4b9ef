import { setupWorkflowIdOf } from '../../model/functions/setup/setup-saga.ts';
import type { Store } from '../../store/connect.ts';
import { releaseSetup } from '../../store/functions/setup/ensured-setup.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';

/** So long what prepares it is told that nobody needs it any more; then it learns that at its end. Milliseconds. */
const TOLD_FOR_MS = 60_000;

/** Looks at what nobody tells of: setups that were asked for by somebody who died, whose workflow was lost, or that no version needs any more. */
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

  /** Looks through all of them, with the versions of each. */
  async release(): Promise<void> {
    for (const setup of await this.store.functionSetups.all()) await releaseSetup(this.store, setup);
  }
}
