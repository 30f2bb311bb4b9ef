import { CancellationScope, condition } from '@temporalio/workflow';
import type { ChangedWaits } from '../../activities/waitpoint/on-host.ts';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import type { StartedAttempt } from '../../model/functions/run-saga.ts';
import type { HostRef } from '../../model/host.ts';
import type { WaitpointRequest } from '../../model/waitpoints/waitpoint.ts';
import { runUntil } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';
import type { RunState } from './run-life.ts';
import { Suspension } from './sleep.ts';
import { type CancelProcess, signalUntilAccepted, TimeLimit } from './time-limit.ts';

/** Delay before a process is followed, ms: brief ones never are. */
const FIRST_POLL_MS = 1_000;
/** Time a woken process may stay idle before it is suspended again. Milliseconds. */
const IDLE_AFTER_WAKE_MS = 60_000;

/**
 * Follows the waitpoints of an attempt's process: records new ones, delivers data, and hibernates the machine in
 * between.
 */
export class WaitpointFollower {
  readonly #asked: WaitpointRequest[] = [];
  readonly #sleep: Suspension;
  /** Enforces the time limit that its guest cannot. */
  readonly limit: TimeLimit;
  #given: string[] = [];
  /** True when the latest known action of the process is a new waitpoint, not a delivery. */
  #isBlocked = false;
  #isOver = false;

  constructor(
    private readonly life: RunState,
    private readonly begun: StartedAttempt,
    private readonly cancel: CancelProcess,
  ) {
    this.#sleep = new Suspension(life, begun, () => this.#isOver);
    this.limit = new TimeLimit(life, begun, this.#sleep, cancel, () => this.#isOver);
  }

  /** @returns the end of an attempt that ends while its machine is hibernated; null: its process has ended */
  async follow(host: HostRef): Promise<AttemptEnd | null> {
    if (await condition(() => this.#isOver, FIRST_POLL_MS)) return null;
    const done = await runUntil(
      () => this.#isOver,
      () => this.#followGuest(host),
    );
    return done?.value ?? null;
  }

  /** Cancels the process when its run is cancelled, unless it is suspended: then {@link follow} ends. */
  async passOnCancel(): Promise<void> {
    await condition(() => this.#isOver || this.life.cancelledBy !== null);
    const { cancelledBy } = this.life;
    if (cancelledBy === null) return;
    const send = async () => this.#sleep.isAsleep || (await this.cancel(cancelledBy));
    await signalUntilAccepted(send, () => this.#isOver);
  }

  /** Marks the process as ended. */
  end(): void {
    this.#isOver = true;
  }

  async #followGuest(host: HostRef): Promise<AttemptEnd | null> {
    const { runId, sandboxId: attemptId } = this.begun;
    const onItsHost = onHost(host, { ...PROFILE.follow(), summary: runId });
    let isAsleep = this.begun.isStarted && (await controlUntilDone.isAsleep({ runId, attemptId }));
    for (let suspendAfterMs: number | null = null; ; ) {
      if (isAsleep) {
        const ended = await CancellationScope.nonCancellable(() => this.#suspend());
        if (ended || this.#isOver) return ended;
        suspendAfterMs = this.#sleep.hasSlept ? IDLE_AFTER_WAKE_MS : this.#sleep.againMs;
      }
      const asked = this.#asked.map(({ name }) => name);
      const changed: ChangedWaits = await onItsHost.followWaitpoints({
        runId,
        attemptId,
        asked,
        given: this.#given,
        restMs: suspendAfterMs,
      });
      isAsleep = changed.isStill === true && !this.#isToEnd;
      if (changed.isStill) suspendAfterMs = null;
      else suspendAfterMs = await CancellationScope.nonCancellable(() => this.#record(changed));
    }
  }

  /** True when the process is being ended. */
  get #isToEnd(): boolean {
    return this.life.cancelledBy !== null || this.limit.isOver;
  }

  async #suspend(): Promise<AttemptEnd | null> {
    const ended = await this.#sleep.through(this.#given);
    this.limit.changed();
    return ended;
  }

  /** @returns time the process must still wait before its machine is hibernated, ms; null: never */
  async #record({ asked, given, due }: ChangedWaits): Promise<number | null> {
    this.#asked.push(...asked);
    const known = new Set(this.#asked.map(({ name }) => name));
    const isGiven = given.some((name) => known.has(name) && !this.#given.includes(name));
    const isAsked = asked.some(({ name }) => !given.includes(name));
    this.#given = given;
    this.#isBlocked = !isGiven && (isAsked || this.#isBlocked);
    const { runId, sandboxId: attemptId } = this.begun;
    const seen = { runId, attemptId, asked: this.#asked, due, isBlocked: this.#isBlocked };
    const { restMs } = await controlUntilDone.recordWaits(seen);
    this.limit.changed();
    return restMs;
  }
}
