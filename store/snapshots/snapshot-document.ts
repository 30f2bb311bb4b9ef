import type { Schema } from 'mongoose';
import { SNAPSHOT_KINDS, SNAPSHOT_STATES, type SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { NAME, NULLABLE_NUMBER, NULLABLE_TEXT, NUMBER, strictPart, strictSchema, TEXT } from '../mongo/schema.ts';

export type SnapshotDocument = Omit<SnapshotRecord, 'id'> & {
  _id: string;
  /** What it counts as in quotas until it is saved. Those from before there were quotas have none. */
  expectedBytes?: number | null;
};

export function documentOf({ id, ...rest }: SnapshotRecord, expectedBytes: number): SnapshotDocument {
  return { _id: id, ...rest, expectedBytes };
}

export function recordOf(document: SnapshotDocument): SnapshotRecord {
  const { _id, expectedBytes: _expectedBytes, ...rest } = document;
  return { id: _id, ...rest };
}

export function snapshotSchema(): Schema<SnapshotDocument> {
  const kind = { type: String, required: true, enum: SNAPSHOT_KINDS };
  const disk = strictPart({ target: NAME, sha256: NAME, virtualBytes: NUMBER, storedBytes: NUMBER });
  const quiesced = { type: Boolean, required: true };
  const saved = { kind, disks: [disk], memoryBytes: NULLABLE_NUMBER, sizeBytes: NUMBER, quiesced, savedAt: NAME };
  return strictSchema<SnapshotDocument>({
    _id: NAME,
    sandboxId: NAME,
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    source: NAME,
    name: NAME,
    kind,
    state: { type: String, required: true, enum: SNAPSHOT_STATES },
    reason: NAME,
    parentId: NULLABLE_TEXT,
    network: strictPart({ egress: NAME }),
    createdBy: { type: strictPart({ apiKeyId: NAME, agentId: NULLABLE_TEXT }), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    saved: { type: strictPart(saved), default: null },
    failure: { type: strictPart({ code: NAME, step: TEXT, message: TEXT }), default: null },
    keptFor: NULLABLE_TEXT,
    expectedBytes: NULLABLE_NUMBER,
  });
}
