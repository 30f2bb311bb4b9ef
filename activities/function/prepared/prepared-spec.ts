import { MayflyError } from '../../../model/errors.ts';
import type { FunctionSpec } from '../../../model/functions/function.ts';
import { deriveSetupKey, type SetupRecord, toSetupInputs } from '../../../model/functions/setup/setup.ts';
import type { Store } from '../../../store/connect.ts';
import { isForkable } from '../../../store/functions/setup/ensured-setup.ts';

/**
 * Returns the spec of a run's sandbox: with a setup, a fork of the setup's snapshot.
 * @throws MayflyError setup_failed, setup_not_ready
 */
export async function resolveSpec(
  { functionSetups, snapshots }: Pick<Store, 'functionSetups' | 'snapshots'>,
  project: string,
  spec: FunctionSpec,
): Promise<FunctionSpec> {
  const wish = toSetupInputs(spec);
  if (!wish) return spec;
  const found = await functionSetups.get({ project, key: deriveSetupKey(wish) });
  if (found?.state === 'failed') throw failedSetup(found);
  if (!found || !(await isForkable(snapshots, found))) {
    throw new MayflyError('setup_not_ready', 'What its setup has saved is not there: it is prepared anew.');
  }
  const { snapshotId, snapshotKind } = found;
  const saved = snapshotKind === 'full' ? { cpus: null, memoryMib: null } : {}; // as saved
  return { ...spec, ...saved, snapshotId };
}

export function failedSetup({ failure }: Pick<SetupRecord, 'failure'>): MayflyError {
  return new MayflyError('setup_failed', failure?.message ?? 'Its setup failed.');
}
