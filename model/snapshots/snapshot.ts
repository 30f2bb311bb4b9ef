import type { KeptOf } from '../functions/traces.ts';
import type { HostRef } from '../host.ts';
import type { Size } from '../project-limits.ts';
import type { Actor, SandboxFailure, SandboxSpec } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** `disk`: what the disks hold. `full`: the memory too, so that processes come back as they were. */
export const SNAPSHOT_KINDS = ['disk', 'full'] as const;
export type SnapshotKind = (typeof SNAPSHOT_KINDS)[number];

/**
 * creating → ready → deleting → deleted, or creating → failed
 *
 * `ready` is said only of what was saved and checked. A record is never removed. A sandbox's end leaves its snapshots:
 * they stay on their host until they are deleted.
 */
export const SNAPSHOT_STATES = ['creating', 'ready', 'failed', 'deleting', 'deleted'] as const;
export type SnapshotState = (typeof SNAPSHOT_STATES)[number];

/**
 * Why a snapshot was taken: somebody asked for it, a restore keeps what it replaces, the present state is compared
 * with an earlier one, or a run failed whose function keeps that. That of a comparison is gone as soon as that is done, and lists
 * leave it out. `setup`: runs of a function are forked from it; callers do not see it.
 */
export const SNAPSHOT_REASONS = ['requested', 'before-restore', 'diff', 'failed-run', 'setup'] as const;
export type SnapshotReason = (typeof SNAPSHOT_REASONS)[number];

/**
 * A sandbox's disks may refer to so many snapshots, one below the other; from one more on they are flattened. Each is a
 * file that QEMU keeps open with a table of its own, is looked into for every cluster that those above it do not have,
 * and is checked by its digest before every fork (figures: docs/performance.md).
 */
export const LONGEST_CHAIN = 8;
/** Where flattening cannot keep pace, a snapshot waits for it from here on. libvirt reads no more than 200 (9.0, storage_source.c). */
export const CHAIN_LIMIT = 32;

/** One disk as a host saved it. */
export interface SavedDisk {
  /** Name of the disk in its machine: `vda`; `root` where a machine is a tree of files. */
  target: string;
  /** Of the content of the qcow2 layer, or of the tree, hex. */
  sha256: string;
  /** What the guest sees, bytes. */
  virtualBytes: number;
  /** What it takes on the host by itself, without what it refers to, bytes. */
  storedBytes: number;
}

/** What a host saved, and checked. */
export interface SavedSnapshot {
  kind: SnapshotKind;
  disks: SavedDisk[];
  /** What its memory takes on the host; null: it has none. */
  memoryBytes: number | null;
  /** What all of it takes on the host, bytes. */
  sizeBytes: number;
  /**
   * The guest's file systems were frozen meanwhile, or, with memory, its processes, and all had been written; otherwise
   * they are as after a power cut.
   */
  quiesced: boolean;
  /** ISO 8601. */
  savedAt: string;
}

/** What was found of a snapshot, and of the sandbox that it was taken of. */
export interface VerifiedSnapshot extends SavedSnapshot {
  /** Snapshots that the sandbox refers to now, this one among them. */
  chainLength: number;
}

/** The record of a snapshot: `_id` is its id. Written by the workflow that takes it, then by the one that deletes it. */
export interface SnapshotRecord extends HostRef {
  id: string;
  /** Its sandbox's, whoever takes it. */
  project: string;
  sandboxId: string;
  /** The golden VM that its sandbox was cloned from. */
  source: string;
  /** Unique in its sandbox among those that are neither `failed` nor `deleted`. */
  name: string;
  kind: SnapshotKind;
  state: SnapshotState;
  reason: SnapshotReason;
  /** The snapshot that the sandbox's disks referred to when this one was taken; null: the source itself. */
  parentId: string | null;
  /** Network of its sandbox, and of its forks unless they ask otherwise. */
  network: SandboxSpec['network'];
  /** Size of its sandbox. `@default` what the sandbox's spec says */
  size?: Size;
  createdBy: Actor;
  createdAt: string;
  readyAt: string | null;
  /** Set once `ready`. */
  saved: SavedSnapshot | null;
  failure: SandboxFailure | null;
  /** Why the host still keeps it though it is `deleted`: what refers to it. Null when nothing does. */
  keptFor: string | null;
  /** Absent: it was taken for another reason than a failed run. */
  keptOf?: KeptOf;
}

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
