import type { ErrorCode } from '../errors.ts';
import type { HostRef } from '../host.ts';
import { NO_PROJECT } from '../project.ts';
import type { Size } from '../project-limits.ts';
import type { Actor, Egress, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { Idle } from './idle.ts';

/** `filling`: it has fewer members than it wants. `degraded`: three in a row could not be made, or gave way; `reason` says why. */
export const POOL_STATES = ['filling', 'ready', 'degraded', 'deleting', 'deleted'] as const;
export type PoolState = (typeof POOL_STATES)[number];

/** What a pool keeps ready. */
export interface PoolWish {
  source: string;
  /** Null: as many as the source has. */
  cpus: number | null;
  /** MiB; null: as the source has. */
  memoryMib: number | null;
  egress: Egress;
  /** Members that are kept whether or not anybody claims any. */
  min: number;
  max: number;
}

/** How creates came out that might have had a member. */
export interface PoolClaims {
  hits: number;
  /** None of its members could be had. */
  misses: number;
}

/** The record of a pool: `_id` is `<project>/<name>`. Written by its own workflow's activities only. */
export interface PoolRecord extends PoolWish {
  /** {@link NO_PROJECT}: all projects share it. */
  project: string;
  name: string;
  /** Raised whenever what its members are changes: those of an earlier one are claimed no more. */
  revision: number;
  state: PoolState;
  /** Members that it wants to have now. */
  wanted: number;
  /** How often it has been filled. `@default` 0 */
  refills?: number;
  /** Why it has fewer; null: it has them, or they are being made. */
  reason: string | null;
  /** When it tries again, ISO 8601; null: it does not wait. */
  retryAt: string | null;
  claims: PoolClaims;
  idle: Idle;
  /** Who set it last: its members are that key's until they are claimed. */
  createdBy: Actor;
  createdAt: string;
  updatedAt: string;
}

/** The workflow of one pool, and what it is asked. */
export const POOL_WORKFLOW = 'pool';
/** Update with a {@link PoolOrder}: answers when the pool goes by it, and no member of before can be claimed any more. */
export const SET_POOL = 'setPool';
/** Signal with an {@link Actor}: ends all members, then the workflow. */
export const DELETE_POOL = 'deletePool';
/** Signal with {@link PoolClaims}: so many creates came since the last one. */
export const POOL_USED = 'poolUsed';
/** Signal with {@link GaveWay}: members of it ended for want of room, so it makes none for a while. */
export const POOL_GAVE_WAY = 'poolGaveWay';

export interface GaveWay {
  /** What somebody would have been refused with. */
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
  gaveWayAt: number;
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
export interface PoolTimes {
  /** Between two looks at its members. */
  lookMs: number;
  /** Age at which a member is replaced. */
  replaceMs: number;
  /** Between two members of which it has too many. */
  shrinkMs: number;
  /** How long nobody has claimed any before members are made. */
  quietMs: number;
  /** After so long they are made nevertheless. */
  patienceMs: number;
  /** After three failures; doubles up to {@link longestRetryMs}. */
  retryMs: number;
  longestRetryMs: number;
}

export const DEFAULT_POOL_TIMES: PoolTimes = {
  lookMs: 10_000,
  replaceMs: 50 * 60_000,
  shrinkMs: 5 * 60_000,
  quietMs: 1_000,
  patienceMs: 10_000,
  retryMs: 30_000,
  longestRetryMs: 600_000,
};

/** A member's own: nobody's pool lets it live for ever. Seconds. */
export const MEMBER_TTL_SECONDS = 3_600;
/** What is left of a member's TTL when it is too old to be claimed. Milliseconds. */
export const TOO_OLD_MS = 300_000;

export function poolIdOf({ project, name }: Pick<PoolRecord, 'project' | 'name'>): string {
  return `${project}/${name}`;
}

export function poolWorkflowIdOf(of: Pick<PoolRecord, 'project' | 'name'>): string {
  return `pool/${poolIdOf(of)}`;
}

/** Whether its members are whose project claims them. Until then they are no project's. */
export function isShared({ project }: Pick<PoolRecord, 'project'>): boolean {
  return project === NO_PROJECT;
}

/** What a project may have of a shared pool until that is filled again: half of it, so that others find some. */
export function shareOf(pool: PoolRecord, project: string) {
  return { pool, project, refill: pool.refills ?? 0, most: Math.max(1, Math.floor(pool.wanted / 2)) };
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
