import type { HostRef } from '../host.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/**
 * A sandbox's disks may refer to so many snapshots, one below the other; from one more on they are flattened. Each is a
 * file that QEMU keeps open with a table of its own, is looked into for every cluster that those above it do not have,
 * and is checked by its digest before every fork (figures: docs/performance.md).
 */
export const LONGEST_CHAIN = 8;
/** Where flattening cannot keep pace, a snapshot waits for it from here on. libvirt reads no more than 200 (9.0, storage_source.c). */
export const CHAIN_LIMIT = 32;

/** The workflow that deletes one snapshot, and the input of its one execution at a time; its id is {@link snapshotWorkflowIdOf}. */
export const DELETE_SNAPSHOT_WORKFLOW = 'deleteSnapshot';
export interface DeleteSnapshotInput extends HostRef {
  snapshotId: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

export function snapshotWorkflowIdOf(snapshotId: string): string {
  return `snapshot/${snapshotId}`;
}

/**
 * The workflow that sees to it that a snapshot taken for a moment goes away: as soon as it is told, else by itself. It is
 * started before the snapshot is taken.
 */
export const EPHEMERAL_SNAPSHOT_WORKFLOW = 'ephemeralSnapshot';
export interface EphemeralSnapshotInput extends DeleteSnapshotInput {
  /** When it goes away by itself, milliseconds. `@default` ten minutes: a comparison takes two at most */
  withinMs?: number;
}
/** Signal, no arguments: nobody needs the snapshot any more, or it was never begun. */
export const RELEASED = 'released';

export function ephemeralSnapshotWorkflowIdOf(snapshotId: string): string {
  return `ephemeral-snapshot/${snapshotId}`;
}
