import { z } from '@hono/zod-openapi';
import { ID_PATTERNS, isSnapshotId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import {
  SNAPSHOT_KINDS,
  SNAPSHOT_REASONS,
  SNAPSHOT_STATES,
  type SnapshotRecord,
} from '../../model/snapshots/snapshot.ts';
import { actor, cursor, egress, instant, limit, snapshotId, stepFailure } from '../http/schemas.ts';
import { strip } from '../schema/strip.ts';
import { sandboxAnswer } from './sandbox-schemas.ts';
import { savedDisk } from './saved-disk.ts';

const { maxLength } = LIMITS.snapshotName;
const name = z
  .string()
  .max(maxLength, `must have at most ${maxLength} characters`)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, 'must be of A-Z, a-z, 0-9, ., _ and -, and not begin with . or -');

export const takeSnapshot = z
  .strictObject({
    name: name.optional(),
    kind: z.enum(SNAPSHOT_KINDS).optional(),
  })
  .openapi('TakeSnapshot', { description: '`name` is unique in the sandbox, and the id unless given.' });

export const restoreSandbox = z
  .strictObject({ snapshotId, keepCurrent: z.boolean().optional() })
  .openapi('RestoreSandbox', {
    description: 'Unless `keepCurrent` is false, the state that is left is kept as a snapshot of its own.',
  });

export const snapshotParams = z.strictObject({
  id: z
    .string()
    .refine(isSnapshotId, 'is not a snapshot id')
    .openapi({ pattern: ID_PATTERNS.snapshot, param: { name: 'id', in: 'path' }, example: 'snp-0123456789abcdef' }),
});

export const snapshotQuery = z.strictObject({ limit, cursor });

export const snapshotAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    sandboxId: z.string(),
    hostId: z.string(),
    source: z.string(),
    name: z.string(),
    kind: z.enum(SNAPSHOT_KINDS),
    state: z.enum(SNAPSHOT_STATES),
    reason: z.enum(SNAPSHOT_REASONS),
    parentId: z.string().nullable(),
    network: z.object({ egress }).nullable(),
    createdBy: actor,
    createdAt: instant,
    readyAt: instant.nullable(),
    saved: z
      .object({
        kind: z.enum(SNAPSHOT_KINDS),
        disks: z.array(savedDisk),
        memoryBytes: z.int().nullable(),
        sizeBytes: z.int(),
        quiesced: z.boolean(),
        savedAt: instant,
      })
      .nullable(),
    failure: stepFailure.nullable(),
    keptFor: z.string().nullable(),
  })
  .openapi('Snapshot', {
    description:
      '`quiesced`: file systems were frozen meanwhile. `keptFor`: what still referred to it when it was deleted. ' +
      '`network`: what its sandbox could reach, and its forks can unless they ask otherwise; null: taken before that was kept.',
  });

export const restoreAnswer = z
  .object({ operationId: z.string(), snapshotId: z.string(), keptAs: z.string().nullable(), sandbox: sandboxAnswer })
  .openapi('Restored', {
    description: '`keptAs`: the snapshot of the state that was left; null when it was not kept.',
  });

export type SnapshotView = z.infer<typeof snapshotAnswer>;

/** Strips a record. */
export function snapshotView(record: SnapshotRecord): SnapshotView {
  const { saved } = record;
  return strip(snapshotAnswer, { ...record, saved: saved && { ...saved, memoryBytes: saved.memoryBytes ?? null } });
}
