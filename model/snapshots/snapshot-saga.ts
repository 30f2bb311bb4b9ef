import type { HostRef } from '../host.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/**
 * Maximum length of a backing chain; longer ones are flattened. QEMU keeps each layer open with its own table, searches
 * it for every cluster missing above, and each layer's digest is checked before every fork (figures:
 * docs/performance.md).
 */
export const LONGEST_CHAIN = 8;
/** Chain length at which a snapshot waits for flattening. libvirt reads at most 200 (9.0, storage_source.c). */
export const CHAIN_LIMIT = 32;

/** Workflow that deletes one snapshot; its id is {@link snapshotWorkflowId}. */
export const DELETE_SNAPSHOT_WORKFLOW = 'deleteSnapshot';
export interface DeleteSnapshotInput extends HostRef {
  snapshotId: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

export function snapshotWorkflowId(snapshotId: string): string {
  return `snapshot/${snapshotId}`;
}

/**
 * Workflow that deletes an ephemeral snapshot: when signaled, else after a timeout. Started before the snapshot is
 * taken.
 */
export const EPHEMERAL_SNAPSHOT_WORKFLOW = 'ephemeralSnapshot';
export interface EphemeralSnapshotInput extends DeleteSnapshotInput {
  /** Timeout, ms. `@default` ten minutes: a comparison takes at most two */
  withinMs?: number;
}
/** Signal without arguments: the snapshot is unneeded, or was never started. */
export const RELEASED = 'released';

export function ephemeralSnapshotWorkflowIdOf(snapshotId: string): string {
  return `ephemeral-snapshot/${snapshotId}`;
}
