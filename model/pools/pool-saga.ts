import type { ErrorCode } from '../errors.ts';
import type { HostRef } from '../host.ts';
import { NO_PROJECT } from '../project.ts';
import type { Size } from '../project-limits.ts';
import type { Actor, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { PoolRecord, PoolSpec } from './pool.ts';

/** Workflow of one pool. */
export const POOL_WORKFLOW = 'pool';
/**
 * Update with a {@link PoolOrder}: returns when the pool applies it and members of an older revision can no longer be
 * claimed.
 */
export const SET_POOL = 'setPool';
/** Signal with an {@link Actor}: ends all members, then the workflow. */
export const DELETE_POOL = 'deletePool';
/** Signal with {@link PoolClaims}: creates since the last signal. */
export const POOL_USED = 'poolUsed';
/** Signal with {@link PreemptionReason}: members are being evicted, so the pool creates none for a while. */
export const POOL_PREEMPTED = 'poolPreempted';

export interface PreemptionReason {
  /** Refusal that the eviction prevents. */
  code: ErrorCode;
}

export interface PoolOrder {
  wish: PoolSpec;
  actor: Actor;
}

export interface PoolInput extends PoolOrder {
  project: string;
  name: string;
  /** ISO 8601. */
  at: string;
  /** True when an existing pool is resumed or deleted; ends at once if there is none. `@default` false */
  isResumed?: boolean;
  /** `@default` DEFAULT_POOL_TIMES */
  times?: Partial<PoolTimes>;
  /** Timeouts of its members. `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
  /** State handed over by the previous run. `@default` first run */
  continued?: ContinuedPool;
}

interface ContinuedPool {
  record: PoolRecord;
  demand: Demand[];
  refillSeconds: number;
  failures: SandboxFailure[];
  /** Milliseconds since 1970. */
  failedAt: number;
  /** Milliseconds since 1970. */
  preemptedAt: number;
  made: number;
  /** Milliseconds since 1970. */
  shrunkAt: number;
}

/** Creates of one second that requested a member. */
export interface Demand {
  /** Seconds since 1970. */
  second: number;
  count: number;
}

/** Intervals of a pool, ms; arguments of the workflow, so that tests can shorten them. */
export const DEFAULT_POOL_TIMES = {
  /** Between two polls of its members. */
  lookMs: 10_000,
  /** Age at which a member is replaced. */
  replaceMs: 50 * 60_000,
  /** Between two retirements of surplus members. */
  shrinkMs: 5 * 60_000,
  /** Time without creates before members are created. */
  quietMs: 1_000,
  /** Time after which members are created despite other creates. */
  patienceMs: 10_000,
  /** Backoff after three failures; doubles up to {@link longestRetryMs}. */
  retryMs: 30_000,
  longestRetryMs: 600_000,
};
export type PoolTimes = typeof DEFAULT_POOL_TIMES;

/** TTL of a member, so that no orphan lives forever. Seconds. */
export const MEMBER_TTL_SECONDS = 3_600;
/** Remaining TTL at which a member is too old to be claimed, ms. */
export const MIN_CLAIM_TTL_MS = 300_000;

export function poolWorkflowId(of: Pick<PoolRecord, 'project' | 'name'>): string {
  return `pool/${poolId(of)}`;
}

/** True for a pool of no project; a claim assigns the member to the claiming project. */
export function isShared({ project }: Pick<PoolRecord, 'project'>): boolean {
  return project === NO_PROJECT;
}

/** True when two specifications describe the same members. */
export function hasSameMembers(one: PoolSpec, other: PoolSpec): boolean {
  const { source, cpus, memoryMib, egress } = one;
  return source === other.source && cpus === other.cpus && memoryMib === other.memoryMib && egress === other.egress;
}

/** Member of a pool according to the store. */
export interface PoolMember {
  sandboxId: string;
  /** `making`: not warm yet. `ending`: cannot be claimed. */
  stage: 'making' | 'warm' | 'ending';
  hostId: string | null;
  installationId: string | null;
  revision: number;
  content: string | null;
  memoryMib: number;
  createdAt: string;
  warmAt: string | null;
}

/** State of the world that a pool's plan depends on. */
export interface PoolObservation {
  /** True when the store has the pool's record. */
  isRecorded: boolean;
  members: PoolMember[];
  /** CPUs of the hosts that have its source. */
  cpus: number;
  /** Members of all pools being created. */
  making: number;
  /** Other sandboxes being created. */
  creates: number;
  /** Drained hosts, whose members are not claimed. */
  drainedHostIds: string[];
  /** Current content of the source by host. */
  contents: Record<string, string | null>;
}

/** Input of a member's creation. */
export interface MemberInput {
  sandboxId: string;
  size: Size;
  hosts: HostRef[];
  content: string | null;
}

export function poolId({ project, name }: Pick<PoolRecord, 'project' | 'name'>): string {
  return `${project}/${name}`;
}
