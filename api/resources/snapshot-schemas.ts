import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { idOf, snapshotId } from '../../model/request-fields.ts';
import { snapshotKind, snapshotRecord } from '../../model/snapshots/snapshot.ts';
import { sandboxAnswer } from './sandbox-schemas.ts';

const { maxLength } = LIMITS.snapshotName;
const name = z
  .string()
  .max(maxLength, `must have at most ${maxLength} characters`)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, 'must be of A-Z, a-z, 0-9, ., _ and -, and not begin with . or -');

export const takeSnapshot = z
  .strictObject({
    name: name.optional(),
    kind: snapshotKind.optional(),
  })
  .openapi('TakeSnapshot', { description: '`name` is unique in the sandbox, and the id unless given.' });

export const restoreSandbox = z
  .strictObject({ snapshotId, keepCurrent: z.boolean().optional() })
  .openapi('RestoreSandbox', {
    description: 'Unless `keepCurrent` is false, the state that is left is kept as a snapshot of its own.',
  });

export const snapshotParams = z.strictObject({
  id: idOf('snapshot'),
});

export const snapshotAnswer = snapshotRecord
  .omit({ installationId: true, size: true, keptOf: true })
  .extend({ network: snapshotRecord.shape.network.pick({ egress: true }) })
  .openapi('Snapshot');

export const restoreAnswer = z
  .object({ operationId: z.string(), snapshotId: z.string(), keptAs: z.string().nullable(), sandbox: sandboxAnswer })
  .openapi('Restored', {
    description: '`keptAs`: the snapshot of the state that was left; null when it was not kept.',
  });

export type SnapshotView = z.infer<typeof snapshotAnswer>;
