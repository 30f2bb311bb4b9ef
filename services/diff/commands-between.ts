import { LIMITS } from '../../model/limits.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { ProjectStore } from '../../store/project-store.ts';

/** Where the commands are that made the one state of the other, as far as that is known. */
interface Time {
  sandboxId: string;
  from: string;
  to: string;
}

/** The commands that ran between two snapshots, in whichever order those are given. */
export async function commandsBetween(
  store: Pick<ProjectStore, 'commands' | 'sandboxes'>,
  a: SnapshotRecord,
  b: SnapshotRecord,
) {
  const time = await timeBetween(store, a, b);
  if (!time) {
    const unknown = `${a.id} is of ${a.sandboxId} and ${b.id} of ${b.sandboxId}, which did not begin as it: what ran in either is not told apart.`;
    return { items: [], isCut: false, unknown };
  }
  const { commands: limit } = LIMITS.diff;
  const found = await store.commands.between({ ...time, limit: limit + 1 });
  return { items: found.slice(0, limit).map(viewOf), isCut: found.length > limit, unknown: null };
}

/** Of one sandbox; or of two, where the later began as a fork of the earlier. */
async function timeBetween(
  store: Pick<ProjectStore, 'sandboxes'>,
  a: SnapshotRecord,
  b: SnapshotRecord,
): Promise<Time | null> {
  const [earlier, later] = savedAt(a) <= savedAt(b) ? [a, b] : [b, a];
  const time = { sandboxId: later.sandboxId, from: savedAt(earlier), to: savedAt(later) };
  if (earlier.sandboxId === later.sandboxId) return time;
  const fork = await store.sandboxes.get(later.sandboxId);
  return fork?.spec.snapshotId === earlier.id ? time : null;
}

function savedAt({ saved, createdAt }: SnapshotRecord): string {
  return saved?.savedAt ?? createdAt;
}

function viewOf({ id, sandboxId, spec, state, outcome, exitCode, signal, startedAt, endedAt }: CommandRecord) {
  const { command, argv } = spec;
  return { id, sandboxId, command, argv, state, outcome, exitCode, signal, startedAt, endedAt };
}
