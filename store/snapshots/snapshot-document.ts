import type { Schema } from 'mongoose';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import { SNAPSHOT_KINDS, SNAPSHOT_STATES, type SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import {
  actorPart,
  NAME,
  NULLABLE_NUMBER,
  NULLABLE_TEXT,
  NUMBER,
  SEALED,
  sizePart,
  strictPart,
  strictSchema,
  TEXT,
} from '../mongo/schema.ts';

export type SnapshotDocument = Omit<SnapshotRecord, 'id'> & {
  _id: string;
  /** What it counts as in quotas until it is saved. Those from before there were quotas have none. */
  expectedBytes?: number | null;
};

/** @param record of a life that began before there were projects it has none */
export function documentOf({ id, ...rest }: SnapshotRecord, expectedBytes: number): SnapshotDocument {
  return { _id: id, ...rest, project: rest.project ?? DEFAULT_PROJECT, expectedBytes };
}

export function recordOf(document: SnapshotDocument): SnapshotRecord {
  const { _id, expectedBytes: _expectedBytes, ...rest } = document;
  return { id: _id, ...rest, project: rest.project ?? DEFAULT_PROJECT };
}

export function snapshotSchema(): Schema<SnapshotDocument> {
  const kind = { type: String, required: true, enum: SNAPSHOT_KINDS };
  const disk = strictPart({ target: NAME, sha256: NAME, virtualBytes: NUMBER, storedBytes: NUMBER });
  const quiesced = { type: Boolean, required: true };
  const saved = { kind, disks: [disk], memoryBytes: NULLABLE_NUMBER, sizeBytes: NUMBER, quiesced, savedAt: NAME };
  return strictSchema<SnapshotDocument>({
    _id: NAME,
    project: NAME,
    sandboxId: NAME,
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    source: NAME,
    name: NAME,
    kind,
    state: { type: String, required: true, enum: SNAPSHOT_STATES },
    reason: NAME,
    parentId: NULLABLE_TEXT,
    network: strictPart({ egress: NAME, allowed: TEXT }),
    size: { type: sizePart(), default: undefined },
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    saved: { type: strictPart(saved), default: null },
    failure: { type: strictPart({ code: NAME, step: TEXT, message: SEALED }), default: null },
    keptFor: NULLABLE_TEXT,
    keptOf: { type: strictPart({ runId: NAME, until: NAME }), default: undefined },
    expectedBytes: NULLABLE_NUMBER,
  });
}
