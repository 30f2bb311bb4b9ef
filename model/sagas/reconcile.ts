import type { HostRef } from '../host.ts';
import { NO_PROJECT } from '../project.ts';
import type { Actor, SandboxRecord, SandboxSpec } from '../sandbox/sandbox.ts';
import { hostOf } from '../sandbox/sandbox-state.ts';
import type { SandboxInput } from './messages.ts';

/**
 * The workflow, and the id of the only one of it, that compares store, Temporal and hosts again and again, and makes them
 * agree; workflows/reconcile.ts tells how.
 */
export const RECONCILE_WORKFLOW = 'reconcile';
/** One round of it, which ends. */
export const RECONCILE_ONCE_WORKFLOW = 'reconcileOnce';
export interface ReconcileInput {
  /** How long something on a host may belong to nobody before it is destroyed. Milliseconds. */
  graceMs: number;
}

/** Signal: begin the next round at once, and go on with these times. */
export const RECONCILE_NOW = 'reconcile-now';
export interface ReconcileTimes extends ReconcileInput {
  /** From one round's end to the next one's start. Milliseconds. */
  everyMs: number;
}

/** The part of it that is about one host; a workflow of its own when the worker of that host has come back. */
export const RECONCILE_HOST_WORKFLOW = 'reconcileHost';
export interface ReconcileHostInput extends ReconcileInput, HostRef {}

export function reconcileHostWorkflowIdOf(hostId: string): string {
  return `reconcile/${hostId}`;
}

/** Sandboxes that one round takes on; the next takes the rest. */
export const RECONCILED_A_ROUND = 500;

/** Who acts, where nobody asked. No API key has this id. */
export const RECONCILER: Actor = { apiKeyId: 'reconciler', agentId: null, project: NO_PROJECT };

/**
 * What a reconciliation came to. `taken-over`: goes on under a new run. `lost`: ended, since its machine is gone or can't be
 * carried on. `orphan-destroyed`: was on a host and in no record. `record-restored`: the store did not have what its run
 * knows. `unproved`: ended with its host, which was forgotten.
 */
export const RECONCILED_OUTCOMES = ['taken-over', 'lost', 'orphan-destroyed', 'record-restored', 'unproved'] as const;
export type ReconciledOutcome = (typeof RECONCILED_OUTCOMES)[number];

/** One of them, as it is counted. */
export interface Reconciled {
  /** Of the audit event that tells of it: the same is counted once. */
  id: string;
  outcome: ReconciledOutcome;
  /** Sandbox, command, snapshot, capture or source. */
  subject: string;
  hostId: string | null;
  /** ISO 8601. */
  at: string;
}

/** What nobody knows of a sandbox that was found on a host. */
const UNKNOWN_SPEC: SandboxSpec = {
  source: 'unknown',
  snapshotId: null,
  captureId: null,
  cpus: null,
  memoryMib: null,
  ttlSeconds: 0,
  idleSeconds: null,
  autoResume: false,
  metadata: {},
  agentId: null,
  network: { egress: 'none' },
};

/** Input of the workflow that goes on with a recorded sandbox, where its own is gone. */
export function recordedInput(record: SandboxRecord, begin: 'destroy' | 'takeOver'): SandboxInput {
  const { id, spec, createdBy, createdAt: requestedAt } = record;
  const host = hostOf(record);
  return { id, spec, createdBy, requestedAt, begin, hosts: host ? [host] : [] };
}

/** What takes away a sandbox that is on a host and belongs to nobody. @param foundAt ISO 8601 */
export function orphanInput(id: string, host: HostRef, foundAt: string): SandboxInput {
  return {
    id,
    spec: UNKNOWN_SPEC,
    createdBy: RECONCILER,
    requestedAt: foundAt,
    begin: 'takeOver',
    foundOn: host,
    hosts: [host],
  };
}
