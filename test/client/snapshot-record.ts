import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { ID } from './sandbox-record.ts';

export const SNAPSHOT = 'snp-0123456789abcdef';

/** A snapshot as the API answers it; `changes` make it what a test needs. */
export function snapshotRecord(changes: Partial<SnapshotRecord> = {}): SnapshotRecord {
  const savedAt = '2026-11-21T10:02:00.000Z';
  return {
    id: SNAPSHOT,
    project: 'default',
    sandboxId: ID,
    hostId: 'host',
    source: 'golden-debian12',
    name: 'before',
    kind: 'disk',
    state: 'ready',
    reason: 'requested',
    parentId: null,
    network: { egress: 'none' },
    createdBy: { apiKeyId: '0123456789ab', agentId: null },
    createdAt: '2026-11-21T10:01:59.000Z',
    readyAt: savedAt,
    saved: {
      kind: 'disk',
      disks: [{ target: 'vda', sha256: 'a'.repeat(64), virtualBytes: 3_221_225_472, storedBytes: 1_572_864 }],
      memoryBytes: null,
      sizeBytes: 1_572_864,
      quiesced: true,
      savedAt,
    },
    failure: null,
    keptFor: null,
    ...changes,
  };
}
