import type { HostRef } from '../host.ts';
import type { Size } from '../project-limits.ts';
import type { AuditEvent } from '../sandbox/audit.ts';
import type {
  Actor,
  BootReason,
  IdleAction,
  Membership,
  SandboxFailure,
  SandboxPhase,
  SandboxSpec,
  SpaceSuspensionCause,
  SshEndpoint,
  StepTiming,
} from '../sandbox/sandbox.ts';
import type { RequestSignature, SignedEvent } from '../sandbox/signed-request.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { SnapshotKind, SnapshotReason, SnapshotRecord } from '../snapshots/snapshot.ts';
import type { EntityState } from './entity-state.ts';

/** Entity workflow of a sandbox: type name, input and messages, shared by the API and the workflow. */
export const SANDBOX_WORKFLOW = 'sandbox';

export interface SandboxInput {
  id: string;
  /**
   * Unique among the project's living sandboxes; a conflict is refused with name_taken before anything is created.
   * `@default` none
   */
  name?: string;
  spec: SandboxSpec;
  /** Size counted in its project's quotas. `@default` from `spec` */
  size?: Size;
  createdBy: Actor;
  /** Time at which the API accepted the request, ISO 8601; the TTL counts from here. */
  requestedAt: string;
  /**
   * `create`: the whole lifecycle. `destroy`: only the end, for a record without a workflow (Temporal's retention, a
   * lost dev-server file). `takeOver`: adoption in the recorded state, also without a workflow.
   */
  begin: 'create' | 'destroy' | 'takeOver';
  /** With `takeOver`: host with an orphan, whose record is missing or final. `@default` none */
  foundOn?: HostRef;
  /** Live candidate hosts, best first; placement proposes others when there is none, or all refuse. */
  hosts: HostRef[];
  /**
   * True when the requester shuts its machine down, as a bake does with its builder: a stopped machine does not end it.
   * `@default` false
   */
  mayBeOff?: boolean;
  /**
   * Role in a template's build, placed on the proposed host only. A builder's network link is always down, and it stays
   * `creating`, so that it stays unused. `@default` caller's sandbox
   */
  template?: 'builder' | 'probe';
  /** Kind of build that owns it: callers can inspect it, but run nothing in it. `@default` caller's sandbox */
  builds?: 'image' | 'source' | 'playbook' | 'run';
  /** Pool that it is created for; it has no owner before a claim. `@default` none */
  pool?: Membership;
  /** Reason why no pool member was used; absent: no pool, or no claim attempted. */
  missed?: Extract<BootReason, 'pool_empty'>;
  /** Required content of the source; absent: any. */
  content?: string;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
  /** State handed over by the previous run. `@default` first run */
  continued?: EntityState;
}

/** Update without arguments: returns once its record is in the store. */
export const ACCEPTED = 'accepted';
/** Update without arguments: returns once it is `running`, `failed` or `destroyed`. */
export const CREATE_FINISHED = 'settled';
/** Update with a {@link SpecUpdate}: returns once the store has the change. */
export const UPDATE_SPEC = 'patch';
/** Signal with a {@link StopRequest}: ends the sandbox in any state. */
export const DESTROY = 'destroy';
/** Signal without arguments: an ephemeral snapshot that its disks refer to was deleted. */
export const LAYER_DELETED = 'layerDeleted';
/**
 * Signal with a {@link HostDecommissioned}: a current or candidate host was decommissioned. Stops waiting for that host, and
 * marks the end as unproved; a sandbox on that host ends now.
 */
export const HOST_DECOMMISSIONED = 'hostForgotten';
export interface HostDecommissioned {
  hostId: string;
  actor: Actor;
}
/** Update without arguments: writes the record again into a store that was restored from a backup. */
export const RESTORE_RECORD = 'restoreRecord';
/** Signal with a {@link StepProgress} from the creating host. */
export const STEP_PROGRESS = 'atStep';

/** Signal with a {@link MachineEndReport} from its host: the machine was found dead. */
export const MACHINE_ENDED = 'machineEnded';

/** Progress of an activity with several steps, when a step takes long enough to be displayed. */
export interface StepProgress {
  phase: SandboxPhase;
  /** Finished steps of the same activity. */
  steps: StepTiming[];
  /** SSH endpoint of the sandbox, as soon as it is known. */
  ssh?: SshEndpoint;
}

/**
 * Update with an {@link Operation}: returns its state once it is accepted and recorded. Use the operation's id as the
 * update id: the same id is the same operation. Refused with sandbox_not_running, sandbox_ended, sandbox_busy,
 * snapshot_name_taken, snapshot_not_found, snapshot_not_ready, snapshot_unsupported.
 */
export const OPERATE = 'operate';
/** Update with an operation's id: returns once it has ended, with or without failure. Refused with not_found. */
export const AWAIT_OPERATION = 'operated';

interface OperationBase {
  /** Chosen by the caller, see {@link OPERATE}: for a snapshot its snapshot id, otherwise `opn-…` of model/ids.ts. */
  operationId: string;
  actor: Actor;
}
export interface SnapshotOperation extends OperationBase {
  kind: 'snapshot';
  /** `@default` the id, filled in by the caller */
  name: string;
  snapshotKind: SnapshotKind;
  /** `@default` requested */
  reason?: Extract<SnapshotReason, 'requested' | 'diff' | 'failed-run' | 'setup'>;
  /** Failed run for which it is retained. `@default` none */
  keptOf?: NonNullable<SnapshotRecord['keptOf']>;
  /** Deadline for its start, ISO 8601: later, no workflow would delete it. `@default` none */
  notAfter?: string;
}
export interface RestoreOperation extends OperationBase {
  kind: 'restore';
  snapshotId: string;
  /** Snapshot id under which the present state is saved first; null: it is discarded. */
  keepAs: string | null;
}
export interface PauseOperation extends Omit<OperationBase, 'actor'> {
  kind: 'pause' | 'hibernate' | 'resume';
  /** Null: suspended for being idle. */
  actor: Actor | null;
}
/**
 * Suspends a sandbox that could outgrow its host's disk or a quota, until there is space. Only its host requests it.
 */
export interface SuspendForSpaceOperation extends Pick<OperationBase, 'operationId'> {
  kind: 'suspend-for-space';
  cause: SpaceSuspensionCause;
  /** Reason for display. */
  why: string;
}
export interface ResumeWithSpaceOperation extends Pick<OperationBase, 'operationId'> {
  kind: 'resume-with-space';
}
/** Operation on a living sandbox; one runs at a time. */
export type Operation =
  | SnapshotOperation
  | RestoreOperation
  | PauseOperation
  | SuspendForSpaceOperation
  | ResumeWithSpaceOperation;

/** State of an operation. Its results are in the store. */
export interface OperationReport {
  isOver: boolean;
  /** Null: success, or not over. */
  failure: SandboxFailure | null;
}

export interface SpecUpdate {
  /** Seconds from now to the new end. */
  ttlSeconds?: number;
  /** Seconds without use; null disables the idle timer. */
  idleSeconds?: number | null;
  onIdle?: IdleAction;
  autoResume?: boolean;
  /** Replaces the metadata as a whole. */
  metadata?: Record<string, string>;
  actor: Actor;
}

/**
 * Update with a {@link ClaimRequest}: assigns a pool member to the caller, and returns once it is stored; the same
 * request gets the same answer. Refused with sandbox_busy when claimed, or being claimed; sandbox_ended;
 * sandbox_not_running when not ready, too old, not matching, or unresponsive; name_taken.
 */
export const CLAIM = 'claim';
/**
 * Update without arguments: ends a pool member unless it is claimed. Returns whether it ends; the first of a claim and
 * a retirement wins.
 */
export const RETIRE = 'retire';

/** Claim of a pool member. */
export interface ClaimRequest {
  /** Id that a sandbox created for the request would have. */
  requestId: string;
  name?: string;
  spec: SandboxSpec;
  size: Size;
  actor: Actor;
  /** Time at which the API accepted the request, ISO 8601; the TTL counts from here. */
  requestedAt: string;
  /** Set when Mayfly claims for a run. `@default` the caller claims */
  builds?: 'run';
}

/**
 * Workflow that appends events to the audit of a sandbox or source for actions without a workflow, such as file access.
 * Each event is a signal {@link RECORD_EVENT}, sent with signal-with-start.
 */
export const RECORD_EVENTS_WORKFLOW = 'recordEvents';
/** Signal with a {@link SignedEvent}; the workflow fills in its `runId`. */
export const RECORD_EVENT = 'eventHappened';
export interface RecordEventsInput {
  sandboxId: string;
  /** Events that an earlier run has not appended. `@default` none */
  events?: SignedEvent[];
  /** Idle time before it completes, so that events share a run. ms, `@default` 10 minutes */
  openMs?: number;
  /** History length from which it continues as new. `@default` Temporal's suggestion */
  longestHistory?: number;
}

export function recordEventsWorkflowId(sandboxId: string): string {
  return `events/${sandboxId}`;
}

/** Event to append by an activity. */
export interface RecordEventInput {
  sandboxId: string;
  event: AuditEvent;
  /** Signature of the requesting process. */
  signature?: RequestSignature | undefined;
}

/** Temporal search attributes (all Keyword), by which operators list workflows. */
export const SEARCH_ATTRIBUTES = {
  host: 'SandboxHost',
  source: 'SandboxSource',
  agent: 'SandboxAgent',
  state: 'SandboxState',
  function: 'RunFunction',
  key: 'RunKey',
  outcome: 'RunOutcome',
} as const;
