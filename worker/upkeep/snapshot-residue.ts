import type { KeptSnapshot } from '../../host/snapshots.ts';
import { StateDir } from '../../host/state-dir.ts';
import type { SnapshotState } from '../../model/snapshots/snapshot.ts';
import type { TemplateState } from '../../model/templates/template.ts';
import type { Store } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import type { HostMachine } from '../machine/host-machine.ts';
import { hypervisorSnapshots } from '../machine/hypervisor.ts';
import { withPresentStore } from '../servers/local-store.ts';
import { withMachine } from './residue.ts';

/** A snapshot on this machine that is not simply one which the store calls ready. */
export interface SnapshotResidue extends KeptSnapshot {
  /** What the store says of it; null: nothing. */
  recorded: SnapshotState | null;
  /** Nobody can ask for it any more: removing it loses nothing, and frees what nothing refers to. */
  isSafe: boolean;
}

/** In these, a saga is still at work on it, and removes or finishes it. */
const UNDER_WAY: readonly (SnapshotState | null)[] = ['creating', 'deleting'];
const OVER: readonly (SnapshotState | null)[] = ['failed', 'deleted'];

/**
 * Snapshots on this machine that were cut off, outlive their deletion, or are unknown to the store. Only looks at the
 * machine, so it may be asked while the host worker runs.
 * @throws MayflyError store_unavailable
 */
export async function findSnapshotResidue(config: Config): Promise<SnapshotResidue[]> {
  const state = new StateDir(config.stateDir);
  // The machine first: a snapshot that is begun between the two looks is in the store by then.
  const present = await hypervisorSnapshots(config, state);
  if (present.length === 0) return [];
  const found = await withPresentStore(config, async (store) =>
    Promise.all(
      present.map(async (snapshot) => {
        const recorded = await recordedState(store, snapshot.snapshotId);
        return { ...snapshot, recorded, isSafe: isSafe(snapshot, recorded) };
      }),
    ),
  );
  const residue = found.filter(({ state: has, recorded }) => {
    return !UNDER_WAY.includes(recorded) && !(has === 'whole' && recorded === 'ready');
  });
  if (residue.length === 0) return [];
  // And once more: one that was being removed meanwhile was gone before the store said so.
  const still = await hypervisorSnapshots(config, state);
  return residue.filter((one) => still.some((other) => other.snapshotId === one.snapshotId));
}

/**
 * Removes what {@link findSnapshotResidue} finds and calls safe; what something refers to stays.
 * @throws MayflyError host_unavailable while a host worker serves this machine; store_unavailable
 */
export async function removeSnapshotResidue(config: Config): Promise<void> {
  await withMachine(config, (machine) => removeSnapshotResidueFrom(machine, config));
}

/** As {@link removeSnapshotResidue}, on a machine that is open. */
export async function removeSnapshotResidueFrom({ hypervisor }: HostMachine, config: Config): Promise<void> {
  for (const snapshot of await findSnapshotResidue(config)) {
    if (snapshot.isSafe) await hypervisor.snapshots.remove(snapshot.snapshotId);
  }
}

/** A whole one without a record may be another store's: it is what somebody wanted to keep. */
function isSafe({ state }: KeptSnapshot, recorded: SnapshotState | null): boolean {
  return OVER.includes(recorded) || (recorded === null && state !== 'whole');
}

/** A template is a snapshot too, and has a record of its own. */
async function recordedState(
  { snapshots, templates }: Pick<Store, 'snapshots' | 'templates'>,
  snapshotId: string,
): Promise<SnapshotState | null> {
  const snapshot = await snapshots.get(snapshotId);
  if (snapshot) return snapshot.state;
  const template = await templates.get(snapshotId);
  return template && AS_SNAPSHOT[template.state];
}

const AS_SNAPSHOT: Record<TemplateState, SnapshotState> = {
  building: 'creating',
  verifying: 'creating',
  ready: 'ready',
  stale: 'deleting',
  removing: 'deleting',
  failed: 'failed',
  gone: 'deleted',
};
