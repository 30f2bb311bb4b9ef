import type { Duration } from '@temporalio/common';
import { ActivityFailure, type ActivityOptions, CancellationScope, log, TimeoutFailure } from '@temporalio/workflow';
import { growing, untilDone } from '../saga/until-done.ts';
import type { Life } from './life.ts';

/**
 * Runs a cleanup step until it succeeds. The first tries are brief; when they fail, the record says what the saga
 * waits for, and the step stays queued or is retried for as long as it takes: a host that is down gets its work
 * when it is back. Temporal keeps retries of one activity out of the history, so a long outage costs no events.
 * @throws ApplicationFailure host_forgotten when nobody waits for that any more
 */
export async function retryUntilDone<T>(
  life: Life,
  what: string,
  run: (options: ActivityOptions) => Promise<T>,
): Promise<T> {
  return life.forgotten.orLeft(life.record.hostId, () => retryUntilDoneOrLeft(life, what, run));
}

/**
 * As {@link retryUntilDone}, but left off when the scope that it is called in is cancelled.
 * @throws CancelledFailure
 */
export async function retryUntilDoneOrLeft<T>(
  life: Life,
  what: string,
  run: (options: ActivityOptions) => Promise<T>,
): Promise<T> {
  try {
    return await run(briefly(life));
  } catch (error) {
    if (isLeft()) throw error;
    log.warn('cleanup does not hold yet', { sandboxId: life.id, what, reason: reasonOf(error) });
    await life.recordChange(
      'sandbox.cleanup',
      { waitingFor: `${what}: ${reasonOf(error)}` },
      { what, reason: reasonOf(error) },
    );
  }
  const { cleanupMs, heartbeatMs, cleanupPauseMs } = life.timeouts;
  const again = async () => {
    const result = await run(optionsUntilDone(cleanupMs, heartbeatMs, 2 * cleanupPauseMs));
    await life.recordChange('sandbox.cleanup', { waitingFor: null }, { what, held: true });
    return result;
  };
  const onFailure = (error: unknown) => {
    if (isLeft()) throw error;
    log.warn('cleanup does not hold yet', { sandboxId: life.id, what, reason: reasonOf(error) });
  };
  return untilDone(again, onFailure, growing(cleanupPauseMs));
}

/** Whether nobody waits any more for what is done here. */
export function isLeft(): boolean {
  return CancellationScope.current().consideredCancelled;
}

function briefly({ timeouts }: Life): ActivityOptions {
  const { hostDownMs, cleanupMs, heartbeatMs } = timeouts;
  return brieflyFirst({ startToCloseTimeout: cleanupMs, heartbeatTimeout: heartbeatMs }, hostDownMs);
}

/** The same step, tried a few times only: then it can be said what it waits for. */
export function brieflyFirst(untilDone: ActivityOptions, scheduleToStartTimeout: Duration = '30s'): ActivityOptions {
  const retry = { initialInterval: '200ms', maximumInterval: '1s', maximumAttempts: 3 } as const;
  return { ...untilDone, scheduleToStartTimeout, retry };
}

/**
 * For a step that stays queued, or is retried, for as long as it takes: without a bound on attempts, a host's worker makes
 * no failure final but those that the saga goes on with (worker/activity-interceptors.ts).
 * @param startToCloseTimeout of one attempt
 * @param longestPauseMs between two attempts
 */
export function optionsUntilDone(
  startToCloseTimeout: Duration,
  heartbeatTimeout: Duration = '4s',
  longestPauseMs = 10_000,
): ActivityOptions {
  const retry = { initialInterval: Math.min(500, longestPauseMs), maximumInterval: longestPauseMs };
  return { startToCloseTimeout, heartbeatTimeout, retry };
}

function reasonOf(error: unknown): string {
  if (error instanceof ActivityFailure) {
    if (error.cause instanceof TimeoutFailure && error.cause.timeoutType === 'SCHEDULE_TO_START')
      return 'the host worker does not answer';
    return error.cause?.message ?? error.message;
  }
  return error instanceof Error ? error.message : String(error);
}
