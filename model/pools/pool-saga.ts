import type { ErrorCode } from '../errors.ts';
import type { HostRef } from '../host.ts';
import { NO_PROJECT } from '../project.ts';
import type { Size } from '../project-limits.ts';
import type { Actor, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { PoolRecord, PoolWish } from './pool.ts';

/** The workflow of one pool, and what it is asked. */
export const POOL_WORKFLOW = 'pool';
/** Update with a {@link PoolOrder}: answers when the pool goes by it, and no member of before can be claimed any more. */
export const SET_POOL = 'setPool';
/** Signal with an {@link Actor}: ends all members, then the workflow. */
export const DELETE_POOL = 'deletePool';
/** Signal with {@link PoolClaims}: so many creates came since the last one. */
export const POOL_USED = 'poolUsed';
/** Signal with {@link PreemptionReason}: members of it are evicted, so it makes none for a while. */
export const POOL_PREEMPTED = 'poolPreempted';

export interface PreemptionReason {
  /** Refusal that the eviction prevents. */
  code: ErrorCode;
}

export interface PoolOrder {
  wish: PoolWish;
  actor: Actor;
}

export interface PoolInput extends PoolOrder {
  project: string;
  name: string;
  /** ISO 8601. */
  at: string;
  /** It goes on with a pool, or ends one, and makes none: where there is none it is over. `@default` false */
  isResumed?: boolean;
  /** `@default` DEFAULT_POOL_TIMES */
  times?: Partial<PoolTimes>;
  /** Of its members. `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
  /** What the run before this one hands over. `@default` this is the first */
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

/** Creates of one second that wanted a member. */
export interface Demand {
  /** Seconds since 1970. */
  second: number;
  count: number;
}

/** How long a pool waits. Milliseconds; arguments of the workflow, so that tests need not wait. */
export const DEFAULT_POOL_TIMES = {
  /** Between two looks at its members. */
  lookMs: 10_000,
  /** Age at which a member is replaced. */
  replaceMs: 50 * 60_000,
  /** Between two members of which it has too many. */
  shrinkMs: 5 * 60_000,
  /** How long nobody has claimed any before members are made. */
  quietMs: 1_000,
  /** After so long they are made nevertheless. */
  patienceMs: 10_000,
  /** After three failures; doubles up to {@link longestRetryMs}. */
  retryMs: 30_000,
  longestRetryMs: 600_000,
};
export type PoolTimes = typeof DEFAULT_POOL_TIMES;

/** A member's own: nobody's pool lets it live for ever. Seconds. */
export const MEMBER_TTL_SECONDS = 3_600;
/** What is left of a member's TTL when it is too old to be claimed. Milliseconds. */
export const TOO_OLD_MS = 300_000;

export function poolWorkflowIdOf(of: Pick<PoolRecord, 'project' | 'name'>): string {
  return `pool/${poolIdOf(of)}`;
}

/** Whether its members are whose project claims them. Until then they are no project's. */
export function isShared({ project }: Pick<PoolRecord, 'project'>): boolean {
  return project === NO_PROJECT;
}

/** Whether members made for one wish are what the other asks for. */
export function hasSameMembers(one: PoolWish, other: PoolWish): boolean {
  const { source, cpus, memoryMib, egress } = one;
  return source === other.source && cpus === other.cpus && memoryMib === other.memoryMib && egress === other.egress;
}

/** A member as its pool sees it in the store. */
export interface PoolMember {
  sandboxId: string;
  /** `making`: it has not come to be warm. `ending`: nothing can be had of it any more. */
  stage: 'making' | 'warm' | 'ending';
  hostId: string | null;
  installationId: string | null;
  revision: number;
  content: string | null;
  memoryMib: number;
  createdAt: string;
  warmAt: string | null;
}

/** What a pool looks at before it does anything. */
export interface PoolSight {
  /** The store has the pool's own record. */
  isRecorded: boolean;
  members: PoolMember[];
  /** Processors of the hosts that have its source. */
  cpus: number;
  /** Members of all pools that are being made. */
  making: number;
  /** Other sandboxes that are being made. */
  creates: number;
  /** Hosts that are given no more sandboxes: none is claimed there either. */
  drainedHostIds: string[];
  /** What the source holds now, by host. */
  contents: Record<string, string | null>;
}

/** As it is made. */
export interface MemberInput {
  sandboxId: string;
  size: Size;
  hosts: HostRef[];
  content: string | null;
}

export function poolIdOf({ project, name }: Pick<PoolRecord, 'project' | 'name'>): string {
  return `${project}/${name}`;
}
