import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { RequestDeps } from '../http/context.ts';
import { diskView } from './saved-disk.ts';
import type { snapshotAnswer } from './snapshot-schemas.ts';

export type SnapshotView = z.infer<typeof snapshotAnswer>;

/** A record as every route answers it, field by field. */
export function snapshotView(record: SnapshotRecord): SnapshotView {
  return {
    id: record.id,
    project: record.project,
    sandboxId: record.sandboxId,
    hostId: record.hostId,
    source: record.source,
    name: record.name,
    kind: record.kind,
    state: record.state,
    reason: record.reason,
    parentId: record.parentId,
    network: record.network ? { egress: record.network.egress } : null,
    createdBy: record.createdBy,
    createdAt: record.createdAt,
    readyAt: record.readyAt,
    saved: record.saved && savedView(record.saved),
    failure: record.failure,
    keptFor: record.keptFor,
  };
}

function savedView({ kind, disks, memoryBytes, sizeBytes, quiesced, savedAt }: NonNullable<SnapshotRecord['saved']>) {
  return { kind, disks: disks.map(diskView), memoryBytes: memoryBytes ?? null, sizeBytes, quiesced, savedAt };
}

/** One that callers see. @throws MayflyError snapshot_not_found */
export async function requireSnapshot({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<SnapshotRecord> {
  const record = await store.snapshots.get(id);
  if (record && record.reason !== 'setup') return record;
  throw new MayflyError('snapshot_not_found', `There is no snapshot ${id}.`);
}
