import type { Config } from '../../worker/config/config.ts';
import type { SnapshotResidue } from '../../worker/upkeep/snapshot-residue.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import type { Fixing } from './fixing.ts';
import { orWhyNot } from './or-why-not.ts';

/** What `--fix` made of it. */
interface FoundSnapshot extends SnapshotResidue {
  removed: boolean;
}

/** What was found and, if so, why it was not removed; or why nobody knows. */
export type SnapshotLook = { snapshots: FoundSnapshot[]; snapshotsNotRemoved?: string } | { snapshotsUnknown: string };

export async function lookForSnapshots(config: Config, { fix, isServed }: Fixing): Promise<SnapshotLook> {
  const { askedRemoval } = await import('../../worker/upkeep/asked-removal.ts');
  const { findSnapshotResidue, removeSnapshotResidue } = await import('../../worker/upkeep/snapshot-residue.ts');
  const found = await orWhyNot(findSnapshotResidue(config));
  if ('why' in found) return { snapshotsUnknown: found.why };
  const snapshots = found.result.map((snapshot) => ({ ...snapshot, removed: false }));
  if (!fix || !snapshots.some(({ isSafe }) => isSafe)) return { snapshots };
  const removal = await orWhyNot(isServed ? askedRemoval(config).snapshots() : removeSnapshotResidue(config));
  if ('why' in removal) return { snapshots, snapshotsNotRemoved: removal.why };
  const left = new Set((await findSnapshotResidue(config)).map(({ snapshotId }) => snapshotId));
  return { snapshots: snapshots.map((snapshot) => ({ ...snapshot, removed: !left.has(snapshot.snapshotId) })) };
}

/** Whether nothing is there that should not be: what is kept for what refers to it should. */
export function isClean(look: SnapshotLook): boolean {
  return (
    'snapshots' in look && look.snapshots.every(({ removed, state, isSafe }) => removed || (state === 'kept' && isSafe))
  );
}

export function snapshotLines(io: Io, look: SnapshotLook): string[] {
  if ('snapshotsUnknown' in look) return [`snapshots were not looked at: ${printable(look.snapshotsUnknown)}`];
  const lines = look.snapshots.map((snapshot) => `${verdict(io, snapshot)} ${snapshot.snapshotId} ${about(snapshot)}`);
  if (look.snapshotsNotRemoved !== undefined) lines.push(`not removed: ${printable(look.snapshotsNotRemoved)}`);
  else if (look.snapshots.some(({ removed, isSafe, state }) => !removed && isSafe && state !== 'kept')) {
    lines.push('do: `mayfly doctor --fix` removes what is left of snapshots that failed or were deleted');
  }
  return lines;
}

function verdict(io: Io, { removed, isSafe, state, recorded }: FoundSnapshot): string {
  if (removed) return io.paint('green', 'removed');
  if (!isSafe) return recorded === null ? io.paint('yellow', 'unknown') : io.paint('red', 'broken');
  return state === 'kept' ? io.paint('yellow', 'kept') : io.paint('red', 'residue');
}

function about({ state, recorded, isSafe }: FoundSnapshot): string {
  const says = recorded === null ? 'the store has no record of it' : `the store says that it is ${recorded}`;
  if (state === 'kept' && isSafe) return `deleted, but a sandbox or another snapshot refers to it; ${says}`;
  if (isSafe) return `${state === 'half' ? 'half made or half removed' : 'whole'}; ${says}`;
  if (recorded === null) return `whole, but ${says}: it may be another store's. It is not removed`;
  return `${state}, but ${says}: it cannot be restored. Delete it with \`mayfly snapshot delete\``;
}
