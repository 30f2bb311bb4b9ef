import { StateDir } from '../../host/state-dir.ts';
import type { SnapshotState } from '../../model/snapshots/snapshot.ts';
import type { TemplateState } from '../../model/templates/template.ts';
import type { Store } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import type { HostMachine } from '../machine/host-machine.ts';
import { readOnlyHypervisor } from '../machine/hypervisor.ts';
import { withPresentStore } from '../servers/local-store.ts';
import { withMachine } from './residue.ts';

export type SavedKind = 'snapshots' | 'captures';
type Recorded = SnapshotState | null;

interface Present {
  id: string;
  state: 'whole' | 'half' | 'kept';
}

/** Snapshot or capture on this machine that is damaged, or not ready in the store. */
export interface SavedResidue extends Present {
  /** State in the store; null: it has no record. */
  recorded: Recorded;
  /** True when no request can reach it: removing it loses nothing, and frees what nothing refers to. */
  isSafe: boolean;
}

interface Saved {
  list: (hypervisor: HostMachine['hypervisor']) => Promise<Present[]>;
  recorded: (store: Store, id: string) => Promise<Recorded>;
  remove: (machine: HostMachine, id: string) => Promise<unknown>;
}

const KINDS: Record<SavedKind, Saved> = {
  snapshots: {
    list: async ({ snapshots }) => (await snapshots.list()).map(({ snapshotId: id, state }) => ({ id, state })),
    recorded: snapshotState,
    remove: ({ hypervisor }, id) => hypervisor.snapshots.remove(id),
  },
  captures: {
    list: async ({ captures }) => (await captures.list()).map(({ captureId: id, state }) => ({ id, state })),
    recorded: async (store, id) => (await store.captures.get(id))?.state ?? null,
    async remove({ hypervisor, ledger }, id) {
      await hypervisor.captures.remove(id);
      await ledger.release(id);
    },
  },
};

/** States in which a workflow still removes or finishes it. */
const IN_PROGRESS: readonly Recorded[] = ['creating', 'deleting'];
const OVER: readonly Recorded[] = ['failed', 'deleted'];

/**
 * Finds snapshots or captures on this machine that are incomplete, outlive their deletion, or are unknown to the store.
 * Only reads the machine, so it may run while the host worker does.
 * @throws MayflyError store_unavailable
 */
export async function findSavedResidue(config: Config, kind: SavedKind): Promise<SavedResidue[]> {
  const list = () => KINDS[kind].list(readOnlyHypervisor(config, new StateDir(config.stateDir)));
  // Machine first: one created between the two reads is in the store by then.
  const present = await list();
  if (present.length === 0) return [];
  const found = await withPresentStore(config, async (store) =>
    Promise.all(
      present.map(async (one) => {
        const recorded = await KINDS[kind].recorded(store, one.id);
        return { ...one, recorded, isSafe: isSafe(one, recorded) };
      }),
    ),
  );
  const residue = found.filter(({ state, recorded }) => {
    return !IN_PROGRESS.includes(recorded) && !(state === 'whole' && recorded === 'ready');
  });
  if (residue.length === 0) return [];
  // Read again: one removed in between left the machine before the store recorded it.
  const still = await list();
  return residue.filter((one) => still.some((other) => other.id === one.id));
}

/**
 * Removes what {@link findSavedResidue} marks as safe; referenced ones stay.
 * @throws MayflyError host_unavailable while a host worker serves this machine; store_unavailable; capture_in_use
 */
export async function removeSavedResidue(config: Config, kind: SavedKind): Promise<void> {
  await withMachine(config, (machine) => removeSavedResidueFrom(machine, config, kind));
}

/** Like {@link removeSavedResidue}, on a machine that is open. */
export async function removeSavedResidueFrom(machine: HostMachine, config: Config, kind: SavedKind): Promise<void> {
  for (const { id, isSafe: mayGo } of await findSavedResidue(config, kind))
    if (mayGo) await KINDS[kind].remove(machine, id);
}

/** A complete one without a record may belong to another store, where it is still wanted. */
function isSafe({ state }: Present, recorded: Recorded): boolean {
  return OVER.includes(recorded) || (recorded === null && state !== 'whole');
}

/** Returns the state of a snapshot or of a template, which is a snapshot with its own record. */
async function snapshotState({ snapshots, templates }: Store, snapshotId: string): Promise<Recorded> {
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
