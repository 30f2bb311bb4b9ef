import { setupWorkflowIdOf } from '../../model/functions/setup/setup-saga.ts';
import type { Store } from '../../store/connect.ts';
import { releaseSetup } from '../../store/functions/setup/ensured-setup.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';

/** How soon a setup is gone on with of which nobody was told, or whose workflow was lost. Milliseconds. */
export const LOOK_AT_SETUPS_EVERY_MS = 3_000;

/** How soon one goes that no version needs any more, where who took the last away died before he said so. Milliseconds. */
export const RELEASE_SETUPS_EVERY_MS = 60_000;

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
