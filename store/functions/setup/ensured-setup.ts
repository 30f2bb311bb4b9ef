import { randomBytes } from 'node:crypto';
import { deriveSetupKey, type SetupInputs, type SetupRecord } from '../../../model/functions/setup/setup.ts';
import type { Actor } from '../../../model/sandbox/sandbox.ts';
import type { Snapshots } from '../../snapshots/snapshots.ts';
import type { FunctionSetups, SetupId } from './function-setups.ts';

/** Deployed versions of functions. */
interface Versions {
  withSetup(project: string, key: string): Promise<readonly unknown[]>;
}

/**
 * Returns the setup of a specification, and creates it if missing; for `preparing` the caller starts its workflow. A
 * ready setup whose snapshot is missing, since its host was decommissioned, is prepared again.
 * @param isRequested true for a direct request: retries a failed setup, and prevents a concurrent removal
 */
export async function ensureSetup(
  { functionSetups, snapshots }: { functionSetups: FunctionSetups; snapshots: Snapshots },
  createdBy: Actor,
  inputs: SetupInputs,
  isRequested: boolean,
): Promise<SetupRecord> {
  const id = { project: createdBy.project, key: deriveSetupKey(inputs) };
  for (;;) {
    const found = await functionSetups.get(id);
    if (!found) {
      await functionSetups.create(newSetup(id, createdBy, inputs));
      continue;
    }
    if (found.state === 'preparing' && !isRequested) return found;
    if (found.state === 'failed' && !isRequested) return found;
    const isUsable = found.state === 'ready' && (await isForkable(snapshots, found));
    if (isUsable && !isRequested) return found;
    const changes = isUsable || found.state === 'preparing' ? {} : ({ ...PREPARING, wish: inputs } as const);
    if (await functionSetups.change(found, changes)) return { ...found, ...changes };
  }
}

/** Marks a setup that no version needs for removal. Idempotent. */
export async function releaseSetup(
  { functionSetups, functionVersions }: { functionSetups: FunctionSetups; functionVersions: Versions },
  id: SetupId,
): Promise<void> {
  for (;;) {
    const found = await functionSetups.get(id);
    if (!found || found.state === 'removing') return;
    if ((await functionVersions.withSetup(id.project, id.key)).length > 0) return;
    if (await functionSetups.change(found, { state: 'removing' })) return;
  }
}

/** Reports whether runs can be forked from a setup. */
export async function isForkable(
  snapshots: Snapshots,
  { state, snapshotId }: Pick<SetupRecord, 'state' | 'snapshotId'>,
): Promise<boolean> {
  if (state !== 'ready' || snapshotId === null) return false;
  return (await snapshots.get(snapshotId))?.state === 'ready';
}

const PREPARING = {
  state: 'preparing',
  failures: 0,
  snapshotId: null,
  snapshotKind: null,
  failure: null,
  log: null,
  waitingFor: null,
} as const;

function newSetup({ project, key }: SetupId, createdBy: Actor, wish: SetupInputs): SetupRecord {
  const at = new Date().toISOString();
  const seed = randomBytes(16).toString('hex');
  return { project, key, seed, ...PREPARING, revision: 1, wish, tries: 0, createdBy, createdAt: at, updatedAt: at };
}
