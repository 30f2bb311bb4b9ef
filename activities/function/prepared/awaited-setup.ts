import type { FunctionSpec } from '../../../model/functions/function.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import type { RunFailure } from '../../../model/functions/run-state.ts';
import { toSetupInputs } from '../../../model/functions/setup/setup.ts';
import type { Store } from '../../../store/connect.ts';
import { ensureSetup } from '../../../store/functions/setup/ensured-setup.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { failedSetup } from './prepared-spec.ts';

interface Deps {
  store: Pick<Store, 'functionSetups' | 'snapshots'>;
  reconciliation: Pick<ControlTemporalClient, 'functions'>;
}

type SetupStatus = { is: 'ready' | 'awaited' } | { is: 'failed'; failure: RunFailure };

/**
 * Checks the setup of a run to be admitted. Restarts a missing one: lost with its host or a restored store, or never
 * requested since the deploy crashed.
 */
export async function checkSetup(
  { store, reconciliation }: Deps,
  { createdBy }: Pick<RunRecord, 'createdBy'>,
  spec: FunctionSpec,
): Promise<SetupStatus> {
  const setupSpec = toSetupInputs(spec);
  if (!setupSpec) return { is: 'ready' };
  const found = await ensureSetup(store, createdBy, setupSpec, false);
  if (found.state === 'ready') return { is: 'ready' };
  if (found.state === 'failed') {
    const { code, message } = failedSetup(found);
    return { is: 'failed', failure: { code, message } };
  }
  await reconciliation.functions.startSetup({ project: found.project, setupKey: found.key });
  return { is: 'awaited' };
}
