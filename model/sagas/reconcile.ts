import type { HostRef } from '../host.ts';
import { NO_PROJECT } from '../project.ts';
import type { Actor, SandboxRecord, SandboxSpec } from '../sandbox/sandbox.ts';
import { getHost } from '../sandbox/sandbox-state.ts';
import type { SandboxInput } from './messages.ts';

/**
 * Type and only id of the workflow that continuously reconciles store, Temporal and hosts; see workflows/reconcile.ts.
 */
export const RECONCILE_WORKFLOW = 'reconcile';
/** Workflow of a single round. */
export const RECONCILE_ONCE_WORKFLOW = 'reconcileOnce';
export interface ReconcileInput {
  /** Grace period before an orphan on a host is destroyed, ms. */
  graceMs: number;
}

/** Signal: starts the next round at once, and sets these intervals. */
export const RECONCILE_NOW = 'reconcile-now';
export interface ReconcileTimes extends ReconcileInput {
  /** Pause between two rounds, ms. */
  everyMs: number;
}

/** Part of a round for one host; a separate workflow when the host's worker has come back. */
export const RECONCILE_HOST_WORKFLOW = 'reconcileHost';
export interface ReconcileHostInput extends ReconcileInput, HostRef {}

export function reconcileHostWorkflowIdOf(hostId: string): string {
  return `reconcile/${hostId}`;
}

/** Sandboxes handled in one round; the next one continues. */
export const ROUND_LIMIT = 500;

/** Actor of actions that no principal requested. No API key has this id. */
export const RECONCILER: Actor = { apiKeyId: 'reconciler', agentId: null, project: NO_PROJECT };

/**
 * Outcomes of a reconciliation. `taken-over`: adopted by a new run. `lost`: ended, since its machine disappeared or
 * cannot be adopted. `orphan-destroyed`: was on a host without a record. `record-restored`: written again from its run
 * into the store. `unproved`: ended with its decommissioned host.
 */
export const RECONCILED_OUTCOMES = ['taken-over', 'lost', 'orphan-destroyed', 'record-restored', 'unproved'] as const;
export type ReconciledOutcome = (typeof RECONCILED_OUTCOMES)[number];

/** Counted outcome. */
export interface Reconciled {
  /** Id of its audit event, which deduplicates the count. */
  id: string;
  outcome: ReconciledOutcome;
  /** Sandbox, command, snapshot, capture or source. */
  subject: string;
  hostId: string | null;
  /** ISO 8601. */
  at: string;
}

/** Specification of an orphan, which has no record. */
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

/** Builds the input of a workflow that adopts or destroys a recorded sandbox without a workflow. */
export function toAdoptionInput(record: SandboxRecord, begin: 'destroy' | 'takeOver'): SandboxInput {
  const { id, spec, createdBy, createdAt: requestedAt } = record;
  const host = getHost(record);
  return { id, spec, createdBy, requestedAt, begin, hosts: host ? [host] : [] };
}

/** Builds the input of a workflow that destroys an orphan on a host. @param foundAt ISO 8601 */
export function toOrphanInput(id: string, host: HostRef, foundAt: string): SandboxInput {
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
