import type { ActivityOptions } from '@temporalio/workflow';

export const MINUTE_MS = 60_000;

interface Limits {
  /** Time in the queue after which the host counts as down, ms. */
  hostDownMs?: number;
  /** Silence after which the worker counts as dead, ms. */
  heartbeatMs?: number;
  /** Time of all attempts together, ms. */
  totalMs?: number;
  attempts?: number;
}

/** Timeouts and retry policies of activities, one profile per kind of dependency. Times in ms. */
export const PROFILE = {
  /** Step of a saga: a few attempts within its time, then the saga fails. */
  step(
    withinMs: number,
    { hostDownMs = 30_000, heartbeatMs = 4_000, totalMs, attempts = 8 }: Limits = {},
  ): ActivityOptions {
    return {
      scheduleToStartTimeout: hostDownMs,
      startToCloseTimeout: withinMs,
      scheduleToCloseTimeout: totalMs ?? withinMs + hostDownMs,
      heartbeatTimeout: heartbeatMs,
      retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: attempts },
    };
  },

  /** First attempt of an {@link undo}: it fails soon, so that the record can show the reason. */
  firstTry(withinMs: number, { hostDownMs = 30_000, heartbeatMs = 4_000 }: Limits = {}): ActivityOptions {
    return {
      scheduleToStartTimeout: hostDownMs,
      startToCloseTimeout: withinMs,
      heartbeatTimeout: heartbeatMs,
      retry: { initialInterval: '200ms', maximumInterval: '1s', maximumAttempts: 3 },
    };
  },

  /**
   * Compensation or removal: queued while the host is down, and retried without limit, which adds no events to the
   * history. Only failures that a saga handles are final (worker/activity-interceptors.ts).
   */
  undo(withinMs: number, { heartbeatMs = 4_000 }: Limits = {}, longestPauseMs = 10_000): ActivityOptions {
    return {
      startToCloseTimeout: withinMs,
      heartbeatTimeout: heartbeatMs,
      retry: { initialInterval: Math.min(500, longestPauseMs), maximumInterval: longestPauseMs },
    };
  },

  /** Work of minutes in a guest or the store: copies, snapshots, comparisons. */
  work(withinMs: number, { hostDownMs, heartbeatMs = 10_000, totalMs, attempts = 8 }: Limits = {}): ActivityOptions {
    return {
      ...(hostDownMs !== undefined && { scheduleToStartTimeout: hostDownMs }),
      ...(totalMs !== undefined && { scheduleToCloseTimeout: totalMs }),
      startToCloseTimeout: withinMs,
      heartbeatTimeout: heartbeatMs,
      retry: { initialInterval: '200ms', maximumInterval: '5s', maximumAttempts: attempts },
    };
  },

  /**
   * Long poll of something to its end, through every interruption.
   * @param withinMs `@default` 60 days: longer than any command
   */
  follow(withinMs = 60 * 24 * 60 * MINUTE_MS): ActivityOptions {
    return {
      startToCloseTimeout: withinMs,
      heartbeatTimeout: '10s',
      retry: { initialInterval: '200ms', maximumInterval: '5s' },
    };
  },

  /** Query of a host, which may be down. */
  probe(withinMs: number, hostDownMs = 30_000, maximumAttempts = 3): ActivityOptions {
    return {
      scheduleToStartTimeout: hostDownMs,
      startToCloseTimeout: withinMs,
      retry: { initialInterval: '200ms', maximumAttempts },
    };
  },
};

/** Timeout of one attempt of a task's compensation, ms. */
const TASK_UNDO_MS = 5 * MINUTE_MS;

/** Profile of the n-th attempt of a task's compensation or removal, n from 1. */
export function undoProfile(n: number): ActivityOptions {
  return n === 1 ? PROFILE.firstTry(TASK_UNDO_MS) : PROFILE.undo(TASK_UNDO_MS);
}
