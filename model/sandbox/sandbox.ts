import type { ErrorCode } from '../errors.ts';
import type { HostRef } from '../host.ts';
import type { Size } from '../project-limits.ts';
import type { Boot, BootWish } from './boot.ts';
import type { Membership } from './membership.ts';
import type { Proof } from './proof.ts';

/**
 * requested → creating(placing, cloning, booting, awaiting-ip, verifying-ssh) → running → destroying → destroyed
 *                              running ⇄ paused, running | paused → hibernated → running, running | paused → restoring → running
 *
 * `creating` ends in `running`, or on failure, cancel, delete or expiry in `destroying`. `destroying` ends in
 * `destroyed` when somebody asked for it (delete, ttl, idle) and in `failed` when the create itself failed, or its machine
 * died; both mean that the cleanup was proved. While `restoring` its machine goes off and comes back from a snapshot. What is
 * `hibernated` has no machine: its memory is on the host's disk. A member of a pool ends its `creating` in `warm`, and is
 * `running` when it is claimed.
 */
export const SANDBOX_STATES = [
  'requested',
  'creating',
  'running',
  'paused',
  'hibernated',
  'restoring',
  'warm',
  'destroying',
  'destroyed',
  'failed',
] as const;
export type SandboxState = (typeof SANDBOX_STATES)[number];

/** The last is of a restore: the disks are back, and the guest is told anew whom to trust. The others are of a create. */
export const SANDBOX_PHASES = [
  'placing',
  'cloning',
  'booting',
  'awaiting-ip',
  'verifying-ssh',
  'renewing-trust',
] as const;
export type SandboxPhase = (typeof SANDBOX_PHASES)[number];

/** States that never change again: nothing of the sandbox is left on any host. */
export function isFinal(state: SandboxState): boolean {
  return state === 'destroyed' || state === 'failed';
}

/** Of what has not ended. */
export const LIVING_STATES = SANDBOX_STATES.filter((state) => !isFinal(state));

/** Whether the outcome of its create can be told: it came to run, or nothing of it is left. */
export function isSettled(state: SandboxState): boolean {
  return state === 'running' || isAsleep(state) || state === 'restoring' || isFinal(state);
}

/** Whether nothing in it moves until it is resumed. */
export function isAsleep(state: SandboxState): boolean {
  return state === 'paused' || state === 'hibernated';
}

export type Egress = 'none' | 'internet';

export interface Network {
  egress: Egress;
  /** All that it, and what is forked of it, may ever have: of a capture that does not allow more. Absent: anything. */
  allowed?: Egress;
}

/** What a caller asks for; defaults filled in at the door. */
/** What becomes of a sandbox that is not used. */
export const IDLE_ACTIONS = ['destroy', 'hibernate'] as const;
export type IdleAction = (typeof IDLE_ACTIONS)[number];

export interface SandboxSpec {
  /** Name of the golden VM. */
  source: string;
  /** The snapshot that it is made from (a fork), instead of the source's disks as they are; null: those. */
  snapshotId: string | null;
  /** Capture of the running source that it is made from. `@default` none */
  captureId?: string | null;
  /** Virtual CPUs; null keeps the source's. */
  cpus: number | null;
  /** MiB; null keeps the source's. */
  memoryMib: number | null;
  /** Seconds from the request to the sandbox's end. */
  ttlSeconds: number;
  /** Seconds without use until {@link onIdle} is done; null: never. */
  idleSeconds: number | null;
  /** `@default` destroy */
  onIdle?: IdleAction;
  /** Whether a command or another use of it, while it is paused or hibernated, resumes it. */
  autoResume: boolean;
  metadata: Record<string, string>;
  agentId: string | null;
  network: Network;
  /** How it gets its machine. `@default` auto */
  boot?: BootWish;
}

/** Who asked: the id of an API key, and the agent it acted for. Never the key itself. */
export interface Actor {
  apiKeyId: string;
  agentId: string | null;
  /** Project of the key. */
  project: string;
  /** By which approval, where one was needed. */
  approvalId?: string;
}

/**
 * Why a sandbox ends. `lost`: its saga was lost, and it could not be carried on. `retired`: its pool needs it no more. With `machine-ended` its `failure` says how
 * its machine was seen to be dead.
 */
export const STOP_REASONS = [
  'deleted',
  'ttl',
  'idle',
  'create-failed',
  'lost',
  'host-forgotten',
  'machine-ended',
  'retired',
] as const;
export type StopReason = (typeof STOP_REASONS)[number];

/** Why a host has stopped a sandbox that grows. */
export const SPACE_SUSPENSION_CAUSES = ['quota_exceeded', 'host_disk_full'] as const satisfies readonly ErrorCode[];
export type SpaceSuspensionCause = (typeof SPACE_SUSPENSION_CAUSES)[number];

export interface SandboxFailure {
  code: ErrorCode;
  /** The activity that failed, as the Temporal UI names it. */
  step: string;
  message: string;
}

/** How to reach a sandbox's sshd. */
export interface SshEndpoint {
  address: string;
  port: number;
  /** Login user inside the guest. */
  user: string;
  /** The pinned host key, one line in OpenSSH public key format. */
  hostKey: string;
}

/** One step of a saga as it is remembered: how long it took, on which attempt. */
export interface StepTiming {
  step: string;
  startedAt: string;
  endedAt: string;
}

/** The record of a sandbox: `_id` is its id. Written only by its own workflow's activities. */
export interface SandboxRecord {
  id: string;
  /** Whose it is: of the key that asked for it. Never changes. */
  project: string;
  /** What people call it, of no other of its project that lives; null: nothing. Nothing outside the store is named after it. */
  name: string | null;
  state: SandboxState;
  /** Set while `creating`, and at the end of `restoring`. */
  phase: SandboxPhase | null;
  spec: SandboxSpec;
  /** Who asked for it. */
  createdBy: Actor;
  hostId: string | null;
  /** Installation of that host; null when no host has it. */
  installationId: string | null;
  /** Size that counts in the quotas of its project. `@default` what {@link spec} says */
  size?: Size;
  /** How it got its machine; null, or absent: it has none yet. */
  boot?: Boot | null;
  /** What it was made for by Mayfly itself; absent: for its caller. */
  builds?: 'image' | 'source' | 'playbook' | 'run';
  /** Of a pool's member, also when it was claimed; absent in what was made for its caller. */
  pool?: Membership;
  /** Every host that was ever asked to take it, also those that refused: its proof looks at each. */
  askedHosts: HostRef[];
  /** The snapshot its disks refer to now; null: the source itself. */
  parentSnapshotId: string | null;
  /** The restore that its disks are of; absent: it was never restored. */
  restoreId?: string | null;
  ssh: SshEndpoint | null;
  macAddress: string | null;
  createdAt: string;
  updatedAt: string;
  runningAt: string | null;
  /** When the TTL ends it, ISO 8601. */
  expiresAt: string;
  stopReason: StopReason | null;
  failure: SandboxFailure | null;
  /** Set while it is `paused` by its host, which lets it go on as soon as there is room; `waitingFor` says the rest. */
  stalledBy: SpaceSuspensionCause | null;
  /** What a saga that can't go on waits for, e.g. `host kvm-2 to come back`. */
  waitingFor: string | null;
  /** Why events wait for its audit trail, which can't be continued; null, or absent: none do. */
  auditFault?: string | null;
  proof: Proof | null;
  steps: StepTiming[];
}

/** A member of a pool that nobody has claimed: no caller's, though its project's. */
export function isUnclaimed({ pool }: Pick<SandboxRecord, 'pool'>): boolean {
  return pool !== undefined && pool.claimedBy === null;
}

/** What changes when its disks are replaced by those of a snapshot. */
export function generationOf({
  parentSnapshotId,
  restoreId = null,
}: Pick<SandboxRecord, 'parentSnapshotId' | 'restoreId'>) {
  return { parentSnapshotId, restoreId };
}

/** The host that has it; null when none has. */
export function hostOf({ hostId, installationId }: Pick<SandboxRecord, 'hostId' | 'installationId'>): HostRef | null {
  return hostId === null || installationId === null ? null : { hostId, installationId };
}
