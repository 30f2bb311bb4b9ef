import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  defineUpdate,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { addIdleMemory, type IdleMemory } from '../../model/pools/idle.ts';
import { selectRecentDemand } from '../../model/pools/plan.ts';
import type { PoolClaims, PoolRecord } from '../../model/pools/pool.ts';
import {
  DEFAULT_POOL_TIMES,
  DELETE_POOL,
  type Demand,
  hasSameMembers,
  POOL_PREEMPTED,
  POOL_USED,
  type PoolInput,
  type PoolMember,
  type PoolOrder,
  type PoolTimes,
  type PreemptionReason,
  SET_POOL,
} from '../../model/pools/pool-saga.ts';
import type { Actor, SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { runContinues } from '../saga/continue-as-new.ts';
import { controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { backoffEnd, FAILURES } from './pausing.ts';
import { retireEarlier } from './retiring.ts';

const setPool = defineUpdate<void, [PoolOrder]>(SET_POOL);
const deletePool = defineSignal<[Actor]>(DELETE_POOL);
const poolPreempted = defineSignal<[PreemptionReason]>(POOL_PREEMPTED);
const poolUsed = defineSignal<[PoolClaims]>(POOL_USED);

/** Number of failures kept; more do not lengthen the backoff. */
const MAX_FAILURES = 20;

/** Refill time assumed until a member has been created. Seconds. */
const FIRST_REFILL_SECONDS = 10;

/** State of one pool in its workflow: its record, members being created, and messages. */
export class PoolState {
  readonly times: PoolTimes;
  /** Members being created now. */
  readonly makers = new Set<{ readonly sandboxId: string | null }>();
  demand: Demand[];
  refillSeconds: number;
  /** Creation failures since the last success. */
  failures: SandboxFailure[];
  /** Time of the latest failure, ms since 1970. */
  failedAt: number;
  /** Time of the latest eviction of a member for lack of room, ms since 1970. */
  preemptedAt: number;
  /** Time at which it last had no surplus members, ms since 1970. */
  shrunkAt: number;
  /** Members created since {@link PoolRecord.refills} last grew, or this run began. */
  madeSinceFilled = 0;
  /** Time of the latest claim, ms since 1970. */
  usedAt = 0;
  /** Time since which it defers creations to others, ms since 1970; null: it does not. */
  yieldingSince: number | null = null;
  isDeleting = false;
  #idle: IdleMemory;
  #record: PoolRecord | null;
  #made: number;
  /** Claims since the pool began, as they will be written. */
  #claims: PoolClaims;
  #isRung = false;
  #isOrdered = false;
  #isQuietening = false;
  #isClosing = false;

  constructor(readonly input: PoolInput) {
    const { times, continued } = input;
    this.times = { ...DEFAULT_POOL_TIMES, ...times };
    this.#record = continued?.record ?? null;
    this.demand = continued?.demand ?? [];
    this.refillSeconds = continued?.refillSeconds ?? FIRST_REFILL_SECONDS;
    this.failures = continued?.failures ?? [];
    this.failedAt = continued?.failedAt ?? 0;
    this.preemptedAt = continued?.preemptedAt ?? 0;
    this.shrunkAt = continued?.shrunkAt ?? Date.now();
    this.#idle = continued?.record.idle ?? { mibHours: 0, at: input.at };
    this.#made = continued?.made ?? 0;
    this.#claims = this.#record?.claims ?? { hits: 0, misses: 0 };
    setHandler(setPool, (order) => this.#set(order), { validator: (_order) => this.#checkOpen() });
    const drain = () => {
      this.isDeleting = true;
      this.ring();
    };
    setHandler(deletePool, drain);
    whenCancelled(drain);
    setHandler(poolUsed, (claims) => this.#used(claims));
    setHandler(poolPreempted, (why) => this.#handlePreemption(why));
  }

  get record(): PoolRecord {
    if (this.#record) return this.#record;
    throw new RangeError('the pool has not begun');
  }

  /** Loads the stored pool with members of earlier runs. @returns false when the pool no longer exists */
  async begin(): Promise<boolean> {
    if (this.#record) return true;
    const { project, name, wish, actor, at } = this.input;
    const present = await controlUntilDone.recallPool({ project, name });
    if (present === null && this.input.isResumed && !this.#isOrdered) return false;
    const claims = { hits: 0, misses: 0 };
    const revision = Date.parse(at); // a member of an earlier pool of that name never counts as this one's
    const fresh = { createdBy: actor, createdAt: at, updatedAt: at, reason: null, retryAt: null };
    this.#record = present ?? {
      project,
      name,
      ...wish,
      revision,
      state: 'filling',
      wanted: wish.min,
      claims,
      idle: this.#idle,
      ...fresh,
    };
    this.#idle = this.record.idle;
    const { hits, misses } = this.record.claims;
    this.#claims = { hits: this.#claims.hits + hits, misses: this.#claims.misses + misses };
    if (present === null) await controlUntilDone.recordPool({ record: this.record });
    if (this.record.state === 'deleting') this.isDeleting = true;
    return true;
  }

  /** Adds the idle memory of ready members since the last round; the next change writes it. */
  countIdle(members: readonly PoolMember[]): void {
    const ready = members.filter(({ stage }) => stage === 'warm');
    this.#idle = addIdleMemory(this.#idle, ready, Date.now());
  }

  /** Writes the changes, if any. @param isLost true: the store has lost the record */
  async change(changes: Partial<PoolRecord>, isLost = false): Promise<void> {
    const next = { ...this.record, ...changes, claims: this.#claims };
    if (!isLost && JSON.stringify(next) === JSON.stringify(this.record)) return;
    const record = { ...next, idle: this.#idle, updatedAt: now() };
    this.#record = record;
    await controlUntilDone.recordPool({ record });
  }

  /**
   * Returns the number of refills: grows when the pool is full again, or has created twice its target and is still not
   * full.
   */
  refillsWith(isFull: boolean, wanted: number): number {
    const { refills = 0, state } = this.record;
    const isFilled = (isFull && state !== 'ready') || (wanted > 0 && this.madeSinceFilled >= 2 * wanted);
    if (!isFilled) return refills;
    this.madeSinceFilled = 0;
    return refills + 1;
  }

  /** Records creation failures. @param at milliseconds since 1970 */
  failed(failures: readonly SandboxFailure[], at = Date.now()): void {
    this.failures = [...this.failures, ...failures].slice(-MAX_FAILURES);
    this.failedAt = at;
  }

  /** Returns a seed that no other run has used for a member. */
  nextSeed(): string {
    const { project, name, revision } = this.record;
    return `${project}/${name}/${revision}/${workflowInfo().runId}/${++this.#made}`;
  }

  /** Wakes the pool's loop. */
  ring(): void {
    this.#isRung = true;
  }

  /** Waits for a wake. @param ms longest wait */
  async untilNext(ms: number): Promise<void> {
    await condition(() => this.#isRung, ms);
    this.#isRung = false;
  }

  /** Stops taking messages, and resolves when pending ones are answered. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await condition(allHandlersFinished);
  }

  async continueAsNew(): Promise<void> {
    await this.close();
    if (this.isDeleting) return; // this run drains the pool
    const { demand, refillSeconds, failures, failedAt, preemptedAt, shrunkAt } = this;
    const record = { ...this.record, idle: this.#idle };
    const continued = { record, demand, refillSeconds, failures, failedAt, preemptedAt, shrunkAt, made: this.#made };
    return continueAsNew<(input: PoolInput) => Promise<void>>({ ...this.input, continued });
  }

  #checkOpen(): void {
    if (this.#isClosing && !this.isDeleting) throw runContinues();
    if (this.isDeleting) throw refusal('too_many_requests', `The pool ${this.input.name} is being deleted.`);
  }

  /** Applies an order. Answers when no member made for an earlier order can be claimed. */
  async #set({ wish, actor }: PoolOrder): Promise<void> {
    this.#isOrdered = true;
    await condition(() => this.#record !== null);
    const { record } = this;
    const isSame = hasSameMembers(record, wish);
    const revision = isSame ? record.revision : record.revision + 1;
    if (!isSame) this.failures = [];
    await this.change({ ...wish, revision, createdBy: actor });
    if (!isSame) await retireEarlier(this);
    this.ring();
  }

  #used({ hits, misses }: PoolClaims): void {
    const at = Date.now();
    this.usedAt = at;
    this.demand = [...selectRecentDemand(this.demand, at), { second: Math.floor(at / 1_000), count: hits + misses }];
    this.#claims = { hits: this.#claims.hits + hits, misses: this.#claims.misses + misses };
    void this.#wakeDebounced();
  }

  /** Backs off as after several failures: the freed room belongs to another sandbox. */
  #handlePreemption({ code }: PreemptionReason): void {
    const at = Date.now();
    const failure = { code, step: 'preemption', message: 'Members were evicted for want of room.' };
    const count = at < backoffEnd(this) ? 0 : Math.max(1, FAILURES - this.failures.length);
    this.failed(
      Array.from({ length: count }, () => failure),
      at,
    );
    this.preemptedAt = at;
    this.ring();
  }

  async #wakeDebounced(): Promise<void> {
    if (this.#isQuietening) return;
    this.#isQuietening = true;
    await sleep(this.times.quietMs);
    this.#isQuietening = false;
    this.ring();
  }
}
