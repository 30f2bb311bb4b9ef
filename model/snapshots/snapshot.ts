import { z } from 'zod';
import { actor, hostRef, instant, network, optional, size, stepFailure } from '../fields.ts';

/** `disk`: content of the disks. `full`: also memory, so that processes continue. */
export const snapshotKind = z.enum(['disk', 'full']);
export type SnapshotKind = z.infer<typeof snapshotKind>;

export const savedDisk = z.object({
  target: z.string().describe('Name of the disk in its machine: `vda`; `root` where a machine is a tree of files'),
  sha256: z.string().describe('Of the content of the qcow2 layer, or of the tree, hex'),
  virtualBytes: z.int().describe('What the guest sees'),
  storedBytes: z.int().describe('What it takes on the host by itself, without what it refers to'),
});
/** Disk as saved by a host. */
export type SavedDisk = z.infer<typeof savedDisk>;

const savedSnapshot = z.object({
  kind: snapshotKind,
  disks: z.array(savedDisk),
  memoryBytes: z.int().nullable().describe('What its memory takes on the host; null: it has none'),
  sizeBytes: z.int().describe('What all of it takes on the host'),
  quiesced: z
    .boolean()
    .describe(
      'File systems were frozen meanwhile, or, with memory, processes, and all had been written; otherwise they are as after a power cut',
    ),
  savedAt: instant,
});
/** Content of a snapshot, verified by its host. */
export type SavedSnapshot = z.infer<typeof savedSnapshot>;

/** Verified snapshot, with the state of its sandbox. */
export interface VerifiedSnapshot extends SavedSnapshot {
  /** Snapshots that the sandbox now refers to, including this one. */
  chainLength: number;
}

/**
 * creating → ready → deleting → deleted, or creating → failed
 *
 * `ready` only once saved and verified. Records are never removed. Snapshots outlive their sandbox: they stay on their
 * host until deleted. Written by the workflow that creates it, then by the one that deletes it.
 */
export const snapshotRecord = z.object({
  id: z.string(),
  project: z.string().describe("Its sandbox's, whoever takes it"),
  sandboxId: z.string(),
  ...hostRef.shape,
  source: z.string().describe('The golden VM that its sandbox was cloned from'),
  name: z.string().describe('Unique in its sandbox among those that are neither `failed` nor `deleted`'),
  kind: snapshotKind,
  state: z.enum(['creating', 'ready', 'failed', 'deleting', 'deleted']),
  reason: z
    .enum(['requested', 'before-restore', 'diff', 'failed-run', 'setup'])
    .describe(
      'Why it was taken: somebody asked for it, a restore keeps what it replaces, the present state is compared with an earlier one, a run failed whose function keeps that, or runs of a function are forked from it',
    ),
  parentId: z
    .string()
    .nullable()
    .describe("Snapshot that the sandbox's disks referred to when this one was taken; null: the source itself"),
  network: network.describe('Of its sandbox, and of its forks unless they ask otherwise'),
  size: optional(size).describe("Of its sandbox. Default: what the sandbox's spec says"),
  createdBy: actor,
  createdAt: instant,
  readyAt: instant.nullable(),
  saved: savedSnapshot.nullable().describe('Set once `ready`'),
  failure: stepFailure.nullable(),
  keptFor: z.string().nullable().describe('What still referred to it when it was deleted; null: nothing does'),
  keptOf: optional(z.object({ runId: z.string(), until: instant })).describe(
    'Failed run that it was kept of, and until when. Absent: it was taken for another reason',
  ),
});
export type SnapshotRecord = z.infer<typeof snapshotRecord>;
export type SnapshotState = SnapshotRecord['state'];
export type SnapshotReason = SnapshotRecord['reason'];
