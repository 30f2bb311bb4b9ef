import type { Schema } from 'mongoose';
import type { SandboxRecord, SandboxSpec } from '../../model/sandbox/sandbox.ts';
import { IDLE_ACTIONS, SANDBOX_PHASES, SANDBOX_STATES } from '../../model/sandbox/sandbox.ts';
import { assertFields } from '../mongo/required-fields.ts';
import {
  actorPart,
  ENCRYPTED_TEXT,
  encrypted,
  NAME,
  NULLABLE_NUMBER,
  NULLABLE_TEXT,
  NUMBER,
  sizePart,
  strictPart,
  strictSchema,
  TEXT,
} from '../mongo/schema.ts';

/**
 * Metadata keys are the caller's, and `a.b` or `$a` mean something to MongoDB as field names; so they are kept as
 * values.
 */
type StoredSpec = Omit<SandboxSpec, 'metadata'> & { metadata: { name: string; value: string }[] };

export type SandboxDocument = Omit<SandboxRecord, 'id' | 'spec'> & {
  _id: string;
  spec: StoredSpec;
  /** The name within its project, where it is this one's alone: only among the living, and absent in whoever has none. */
  heldName?: string;
};

export function documentOf({ id, spec, ...rest }: SandboxRecord): SandboxDocument {
  return { _id: id, ...rest, spec: storedSpec(spec) };
}

/** Returns the value of the unique index that keeps names apart within a project. */
export function heldNameOf(project: string, name: string): string {
  return `${project}/${name}`;
}

/** Of one that begins: it holds its name. */
export function livingDocumentOf(record: SandboxRecord): SandboxDocument {
  const document = documentOf(record);
  return { ...document, ...(record.name !== null && { heldName: heldNameOf(document.project, record.name) }) };
}

/** @throws MayflyError record_damaged */
export function recordOf(document: SandboxDocument): SandboxRecord {
  assertFields('sandboxes', document, ['project']);
  const { _id, spec, heldName: _held, ...rest } = document;
  const metadata = Object.fromEntries(spec.metadata.map(({ name, value }) => [name, value]));
  return { id: _id, ...rest, spec: { ...spec, metadata } };
}

/** What `$set` is given for these changes. */
export function setOf({ spec, ...rest }: Partial<Omit<SandboxRecord, 'id'>>): Partial<SandboxDocument> {
  return spec ? { ...rest, spec: storedSpec(spec) } : rest;
}

function storedSpec(spec: SandboxSpec): StoredSpec {
  return { ...spec, metadata: Object.entries(spec.metadata).map(([name, value]) => ({ name, value })) };
}

export function sandboxSchema(): Schema<SandboxDocument> {
  return strictSchema<SandboxDocument>({
    _id: NAME,
    project: NAME,
    name: NULLABLE_TEXT,
    heldName: TEXT,
    state: { type: String, required: true, enum: SANDBOX_STATES },
    phase: { type: String, default: null, enum: [...SANDBOX_PHASES, null] },
    spec: { type: specPart(), required: true },
    createdBy: { type: actorPart(), required: true },
    hostId: NULLABLE_TEXT,
    installationId: NULLABLE_TEXT,
    askedHosts: { type: [strictPart({ hostId: NAME, installationId: NAME })], required: true },
    size: { type: sizePart(), default: undefined },
    boot: { type: bootPart(), default: undefined },
    builds: TEXT,
    pool: { type: membershipPart(), default: undefined },
    parentSnapshotId: NULLABLE_TEXT,
    restoreId: TEXT,
    ssh: { type: strictPart({ address: NAME, port: NUMBER, user: NAME, hostKey: NAME }), default: null },
    macAddress: NULLABLE_TEXT,
    createdAt: NAME,
    updatedAt: NAME,
    runningAt: NULLABLE_TEXT,
    expiresAt: NAME,
    stopReason: NULLABLE_TEXT,
    failure: { type: strictPart({ code: NAME, step: TEXT, message: ENCRYPTED_TEXT }), default: null },
    stalledBy: NULLABLE_TEXT,
    waitingFor: ENCRYPTED_TEXT,
    auditFault: TEXT, // without a default: a version that does not know it must be able to end what it finds
    proof: { type: proofPart(), default: null },
    steps: [strictPart({ step: NAME, startedAt: NAME, endedAt: NAME })],
  });
}

const METADATA = encrypted((problem) => [{ name: 'unreadable', value: problem }]);

function specPart(): Schema {
  return strictPart({
    source: NAME,
    snapshotId: NULLABLE_TEXT,
    captureId: NULLABLE_TEXT,
    cpus: NULLABLE_NUMBER,
    memoryMib: NULLABLE_NUMBER,
    ttlSeconds: NUMBER,
    idleSeconds: NULLABLE_NUMBER,
    onIdle: { type: String, enum: IDLE_ACTIONS },
    autoResume: { type: Boolean, required: true },
    metadata: METADATA,
    agentId: NULLABLE_TEXT,
    network: { type: strictPart({ egress: NAME, allowed: TEXT }), required: true },
    boot: TEXT,
  });
}

function bootPart(): Schema {
  return strictPart({ way: NAME, why: NULLABLE_TEXT, templateId: NULLABLE_TEXT, ageSeconds: NULLABLE_NUMBER });
}

function membershipPart(): Schema {
  const text = { content: NULLABLE_TEXT, warmAt: NULLABLE_TEXT, claimedBy: NULLABLE_TEXT };
  return strictPart({ name: NAME, revision: NUMBER, ...text });
}

function proofPart(): Schema {
  const observation = strictPart({
    layer: NAME,
    lookedAt: TEXT,
    absent: { type: Boolean, required: true },
    found: TEXT,
    at: NAME,
    by: {
      type: strictPart({ hostId: NAME, installationId: NAME, kind: NAME, hostUuid: NULLABLE_TEXT }),
      default: undefined,
    },
  });
  return strictPart({
    sandboxId: NAME,
    hostId: NULLABLE_TEXT,
    observations: [observation],
    provedAt: NAME,
    unproved: TEXT,
  });
}
