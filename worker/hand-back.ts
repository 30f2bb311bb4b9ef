import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';

/** Time a step may take to stop when its worker shuts down, ms. */
const CANCEL_GRACE_MS = 500;

/**
 * Fails a step fast on worker shutdown, so that Temporal retries it on the next worker. The step's own error is not
 * reported, and a step that ignores the cancel is not awaited: process and programs end anyway.
 */
export class ShutdownInterceptor implements ActivityInboundCallsInterceptor {
  constructor(private readonly context: Context) {}

  async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const { cancelled, cancellationSignal } = this.context;
    const over = new AbortController();
    const abandoned = cancelled.catch(async (error: unknown) => {
      if (isWorkerShutdown(error)) await sleep(CANCEL_GRACE_MS, undefined, { signal: over.signal });
      else await new Promise(() => {}); // the workflow cancelled it: awaited
      throw error;
    });
    try {
      return await Promise.race([next(input), abandoned]);
    } catch (error) {
      throw isWorkerShutdown(cancellationSignal.reason) ? cancellationSignal.reason : error;
    } finally {
      over.abort();
    }
  }
}

function isWorkerShutdown(reason: unknown): boolean {
  return reason instanceof CancelledFailure && reason.message === 'WORKER_SHUTDOWN';
}
