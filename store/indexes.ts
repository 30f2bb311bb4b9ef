import type { Connection } from 'mongoose';
import { withStoreErrors } from './mongo/failure.ts';

type Index = Readonly<Record<string, 1 | -1>>;

const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

const OF_PROJECT = [
  { project: 1, ...NEWEST_FIRST },
  { project: 1, state: 1, ...NEWEST_FIRST },
] as const;

/**
 * Indexes by collection, beside those of `_id`; docs/store.md lists their queries. The embedded store uses them only
 * for strings of printable ASCII, and never for elements of a list.
 */
export const INDEXES: Readonly<Record<string, readonly Index[]>> = {
  sandboxes: [NEWEST_FIRST, { state: 1, ...NEWEST_FIRST }, ...OF_PROJECT],
  endedSandboxes: [NEWEST_FIRST, { state: 1, ...NEWEST_FIRST }, { updatedAt: 1, _id: 1 }, ...OF_PROJECT],
  snapshots: [{ sandboxId: 1, ...NEWEST_FIRST }, { project: 1, ...NEWEST_FIRST }, NEWEST_FIRST, { state: 1 }],
  captures: [{ source: 1, ...NEWEST_FIRST }, { state: 1 }],
  commands: [{ sandboxId: 1, requestedAt: -1, _id: -1 }],
  certificates: [{ sandboxId: 1, _id: -1 }, { validBefore: 1 }, { request: 1 }],
  sources: [{ name: 1 }, { state: 1 }],
  bakedSources: [{ name: 1 }, { state: 1 }, { snapshotId: 1 }],
  templates: [{ state: 1 }],
  sentContexts: [{ project: 1, digest: 1 }, { usedAt: 1 }],
  images: [{ project: 1, ...NEWEST_FIRST }, { project: 1, name: 1, state: 1, ...NEWEST_FIRST }, { state: 1 }],
  playbooks: [{ project: 1, ...NEWEST_FIRST }, { state: 1 }],
  functions: [{ state: 1 }],
  bulks: [{ state: 1 }, { removeAfter: 1 }],
  waitpoints: [{ runId: 1 }, { unaudited: 1 }],
  hooks: [{ project: 1, function: 1 }],
  webhookEndpoints: [{ project: 1 }, { untoldDisabling: 1 }],
  webhookDeliveries: [
    { endpointId: 1, ...NEWEST_FIRST },
    { endpointId: 1, state: 1, ...NEWEST_FIRST },
    { wakeAt: 1 },
    { removeAfter: 1 },
  ],
  schedules: [{ wakeAt: 1 }, { project: 1, function: 1 }],
  scheduleTimes: [{ removeAfter: 1 }, { untold: 1 }],
  functionVersions: [{ files: 1 }, { setup: 1 }],
  functionSetups: [{ state: 1 }],
  runs: [
    { project: 1, acceptedAt: -1, _id: -1 },
    { project: 1, function: 1, acceptedAt: -1, _id: -1 },
    { project: 1, state: 1, acceptedAt: -1, _id: -1 },
    { project: 1, outcome: 1, acceptedAt: -1, _id: -1 },
    { project: 1, keyed: 1, acceptedAt: -1, _id: -1 },
    { project: 1, deadLetter: 1, acceptedAt: -1, _id: -1 },
    { admitted: 1 },
    { queued: 1 },
    { large: 1 },
    { gathers: 1 },
    { unchecked: 1 },
    { untold: 1, state: 1 },
    { wakeAt: 1 },
    { removeAfter: 1 },
    { untoldEnd: 1 },
    { untoldCleanup: 1 },
    { unsigned: 1 },
  ],
  uses: [{ busy: 1 }],
  reconciled: [{ outcome: 1 }],
  idempotency: [{ expiresAt: 1 }],
  mcpSessions: [{ project: 1, usedAt: -1 }, { usedAt: 1 }],
  mcpEvents: [{ at: 1 }],
  exposedPorts: [{ sandboxId: 1 }],
  policies: [{ project: 1, _id: -1 }],
  approvals: [
    { project: 1, askedAt: -1, _id: -1 },
    { project: 1, state: 1, askedAt: -1, _id: -1 },
    { project: 1, changedAt: 1 },
    { expiresAt: 1 },
  ],
  auditHeads: [{ endedAt: 1, _id: 1 }],
  auditQueue: [{ sandboxId: 1, place: 1 }],
};

/**
 * Unique fields, by collection. Documents without one are exempt: on MongoDB by `sparse`, on the embedded store because
 * SQLite treats missing values as distinct.
 */
export const UNIQUE: Readonly<Record<string, readonly string[]>> = {
  sandboxes: ['heldName'],
  runs: ['slot0', 'slot1', 'ticket'],
};

/** Creates missing indexes, one at a time: FerretDB ends the connection when several of one command already exist. */
export async function ensureIndexes(connection: Connection): Promise<void> {
  for (const [collection, indexes] of Object.entries(INDEXES)) {
    for (const index of indexes) {
      await withStoreErrors(`index ${collection}`, () => connection.collection(collection).createIndex(index));
    }
  }
  const options = { unique: true, sparse: true };
  for (const [collection, fields] of Object.entries(UNIQUE)) {
    for (const field of fields) {
      const index = { [field]: 1 } as const;
      await withStoreErrors(`index ${collection}`, () => connection.collection(collection).createIndex(index, options));
    }
  }
}
