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

/** The entity workflow's type name, its input, and the messages it answers; shared by the API (names) and the workflow (handlers). */
export const SANDBOX_WORKFLOW = 'sandbox';

export interface SandboxInput {
  id: string;
  /** Refused with name_taken, before anything is made, when another that lives has it. `@default` none */
  name?: string;
  spec: SandboxSpec;
  /** As it counts in its project's quotas. `@default` it counts with what `spec` says */
  size?: Size;
  createdBy: Actor;
  /** When the API accepted the request, ISO 8601; TTL counts from here. */
  requestedAt: string;
  /**
   * `create`: the whole life. `destroy`: only its end, for a record whose workflow is gone (Temporal's retention,
   * a lost dev-server file). `takeOver`: from where its record, whose workflow is gone, says that it is.
   */
  begin: 'create' | 'destroy' | 'takeOver';
  /** With `takeOver`: the host on which something of it is though it has no record, or has ended. `@default` none */
  foundOn?: HostRef;
  /** Live hosts that may take it, the best first; placement is asked when there is none, or all refuse. */
  hosts: HostRef[];
  /** Whoever has it made shuts its machine down, as a bake does its builder: one that is off does not end. `@default` false */
  mayBeOff?: boolean;
  /**
   * It is a template's, so that the host which is proposed makes it, and no other. A builder never has its cable in: it
   * stays `creating`, so that nobody uses it. `@default` it is its caller's
   */
  template?: 'builder' | 'probe';
  /** What a build makes of it: callers look at it, and run nothing there. `@default` it is its caller's */
  builds?: 'image' | 'source' | 'playbook' | 'run';
  /** It is made for a pool, and nobody's before it is claimed. `@default` it is made for its caller */
  pool?: Membership;
  /** Why it is made anew though there is a pool of such; absent: there is none, or it was not asked. */
  missed?: Extract<BootReason, 'pool_empty'>;
  /** What the source must hold on them; absent: whatever it holds. */
  content?: string;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
  /** What the run before this one hands over. `@default` this is the first */
  continued?: EntityState;
}

/** Update, no arguments: answers as soon as its record is in the store. */
export const ACCEPTED = 'accepted';
/** Update, no arguments: answers once it is `running`, `failed` or `destroyed`. */
export const SETTLED = 'settled';
/** Update with a {@link SandboxPatch}: answers when the store has the change. */
export const PATCH = 'patch';
/** Signal with a {@link StopRequest}: end the sandbox, whatever its state. */
export const DESTROY = 'destroy';
/** Signal, no arguments: a snapshot that its disks refer to was needed for a moment, and has been deleted. */
export const LAYER_DELETED = 'layerDeleted';
/**
 * Signal with a {@link HostForgotten}: a host is given up that it is on, or that was asked to take it. What waits for that
 * is left, and the end is unproved; where it is on that host it ends now.
 */
export const HOST_FORGOTTEN = 'hostForgotten';
export interface HostForgotten {
  hostId: string;
  actor: Actor;
}
/**
 * Update, no arguments: writes the record into the store again, which was set back to an earlier time. Answers when it is
 * there.
 */
export const RESTORE_RECORD = 'restoreRecord';
/** Signal with a {@link StepUnderWay}, of the host that is creating the sandbox. */
export const AT_STEP = 'atStep';

/** Signal with a {@link MachineEndReport}, of the host that has the sandbox: its machine was seen dead. */
export const MACHINE_ENDED = 'machineEnded';

/** A step of an activity that has several takes long enough for somebody to look. */
export interface StepUnderWay {
  phase: SandboxPhase;
  /** Those of the same activity that are over. */
  steps: StepTiming[];
  /** Where the sandbox will be reached, as soon as that is known. */
  ssh?: SshEndpoint;
}

/**
 * Update with an {@link Operation}: answers as soon as it has been accepted and recorded, with what it is now. Give the
 * update the operation's id: the same id again is the same operation. Refused with sandbox_not_running, sandbox_ended,
 * sandbox_busy, snapshot_name_taken, snapshot_not_found, snapshot_not_ready, snapshot_unsupported.
 */
export const OPERATE = 'operate';
/** Update with an operation's id: answers once it has ended, whether it failed or not. Refused with not_found. */
export const OPERATED = 'operated';

interface OperationBase {
  /** Chosen by who asks, see {@link OPERATE}: of a snapshot, its snapshot id; otherwise of model/ids.ts, `opn-…`. */
  operationId: string;
  actor: Actor;
}
export interface SnapshotOperation extends OperationBase {
  kind: 'snapshot';
  /** `@default` the id, filled in by who asks */
  name: string;
  snapshotKind: SnapshotKind;
  /** `@default` requested */
  reason?: Extract<SnapshotReason, 'requested' | 'diff' | 'failed-run' | 'setup'>;
  /** `@default` it is no failed run's */
  keptOf?: NonNullable<SnapshotRecord['keptOf']>;
  /** Not begun any more after this, ISO 8601: by then nobody is left who would delete it. `@default` never too late */
  notAfter?: string;
}
export interface RestoreOperation extends OperationBase {
  kind: 'restore';
  snapshotId: string;
  /** The id under which the present state is kept first; null: it is not kept. */
  keepAs: string | null;
}
export interface PauseOperation extends Omit<OperationBase, 'actor'> {
  kind: 'pause' | 'hibernate' | 'resume';
  /** Null: nobody asked, it was idle. */
  actor: Actor | null;
}
/** The host of the sandbox keeps it from growing, until there is room; or lets it go on. Nobody else asks for that. */
export interface SuspendForSpaceOperation extends Pick<OperationBase, 'operationId'> {
  kind: 'suspend-for-space';
  cause: SpaceSuspensionCause;
  /** What it waits for, in words for a person. */
  why: string;
}
export interface ResumeWithSpaceOperation extends Pick<OperationBase, 'operationId'> {
  kind: 'resume-with-space';
}
/** What can be done to a sandbox while it lives, one at a time. */
export type Operation =
  | SnapshotOperation
  | RestoreOperation
  | PauseOperation
  | SuspendForSpaceOperation
  | ResumeWithSpaceOperation;

/** An operation as it stands. What it has made is in the store. */
export interface OperationReport {
  isOver: boolean;
  /** Why it failed; null when it did not, or is not over. */
  failure: SandboxFailure | null;
}

export interface SandboxPatch {
  /** Seconds from now to the new end. */
  ttlSeconds?: number;
  /** Seconds without use; null switches the idle timer off. */
  idleSeconds?: number | null;
  onIdle?: IdleAction;
  autoResume?: boolean;
  /** Replaces the metadata as a whole. */
  metadata?: Record<string, string>;
  actor: Actor;
}

/**
 * Update with a {@link ClaimRequest}, for a member of a pool: it is that caller's from then on. Answers when the store has
 * it; the same request again gets the same answer. Refused with sandbox_busy when it is claimed, or is being; sandbox_ended;
 * sandbox_not_running when it is not ready, too old, not what is asked for, or does not answer; name_taken.
 */
export const CLAIM = 'claim';
/**
 * Update, no arguments, for a member of a pool: it ends, unless it is claimed. Answers whether it does; of it and a claim
 * the first wins.
 */
export const RETIRE = 'retire';

/** What a caller asks for who gets a member. */
export interface ClaimRequest {
  /** Of the request: the id that a sandbox made for it would have. */
  requestId: string;
  name?: string;
  spec: SandboxSpec;
  size: Size;
  actor: Actor;
  /** When the API accepted the request, ISO 8601; TTL counts from here. */
  requestedAt: string;
  /** Mayfly asks for it itself. `@default` its caller does */
  builds?: 'run';
}

/**
 * The workflow that appends to the audit trail of one sandbox, or source, what no saga does, such as a file access. Each event
 * is a signal {@link EVENT_HAPPENED}, which starts it when it does not run.
 */
export const RECORD_EVENTS_WORKFLOW = 'recordEvents';
/** Signal with a {@link SignedEvent}; its `runId` is filled in by the workflow. */
export const EVENT_HAPPENED = 'eventHappened';
export interface RecordEventsInput {
  sandboxId: string;
  /** Those that an earlier run has not appended yet. `@default` none */
  events?: SignedEvent[];
  /** How long it stays open for more, so that not every event has a run of its own. Milliseconds, `@default` 10 minutes */
  openMs?: number;
  /** Events of the history from which on it continues as new. `@default` when Temporal suggests it */
  longestHistory?: number;
}

export function recordEventsWorkflowIdOf(sandboxId: string): string {
  return `events/${sandboxId}`;
}

/** One event, as an activity appends it. */
export interface RecordEventInput {
  sandboxId: string;
  event: AuditEvent;
  /** Of who asks for it. */
  signature?: RequestSignature | undefined;
}

/** Temporal search attributes (all Keyword), so that operators can list sagas by what they know. */
export const SEARCH_ATTRIBUTES = {
  host: 'SandboxHost',
  source: 'SandboxSource',
  agent: 'SandboxAgent',
  state: 'SandboxState',
  function: 'RunFunction',
  key: 'RunKey',
  outcome: 'RunOutcome',
} as const;
