import {
  type Client,
  isGrpcCancelledError,
  isGrpcDeadlineError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { grpcStatusOf, UNAVAILABLE } from './failure.ts';

/**
 * Length of one round of a wait, ms. A native connection cannot abort a call (@temporalio/worker 1.24,
 * lib/connection.js), so an abandoned one hangs on the server no longer than this.
 */
export const ROUND_MS = 10_000;

/**
 * Repeats a long poll until it answers. A server closes a connection after minutes, with the polls on it
 * (`frontend.keepAliveMaxConnectionAge`): one lost round is polled again, the second in a row is an error.
 * @throws the signal's reason when it fires first; errors of the call
 */
export async function repeatLongPoll<T>(
  client: Client,
  signal: AbortSignal,
  call: () => Promise<T>,
  roundMs = ROUND_MS,
): Promise<T> {
  let isLost = false;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await raceWithSignal(signal, client.withDeadline(Date.now() + roundMs, call));
    } catch (error) {
      signal.throwIfAborted();
      const isLostNow = grpcStatusOf(error)?.code === UNAVAILABLE;
      if (!isRoundTimeout(error) && (isLost || !isLostNow)) throw error;
      isLost = isLostNow;
    }
  }
}

/** Reports whether a round has timed out. A native connection reports its own deadline as a cancellation. */
function isRoundTimeout(error: unknown): boolean {
  const isOver = isGrpcDeadlineError(error) || isGrpcCancelledError(error);
  return isOver || error instanceof WorkflowUpdateRPCTimeoutOrCancelledError;
}

async function raceWithSignal<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
