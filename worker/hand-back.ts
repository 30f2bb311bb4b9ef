import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';

/** How long a step that is told to give up because its worker ends may take for it. Milliseconds. */
const GIVE_UP_MS = 500;

/**
 * A worker that ends hands its steps back: Temporal gives each to the next worker, as an attempt more. However a step takes
 * being told, that is no failure of it; and one that takes no notice is not waited for, since this process ends and its
 * programs with it.
 */
export class HandBackInterceptor implements ActivityInboundCallsInterceptor {
  constructor(private readonly context: Context) {}

  async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const { cancelled, cancellationSignal } = this.context;
    const over = new AbortController();
    const abandoned = cancelled.catch(async (error: unknown) => {
      if (isEndOfWorker(error)) await sleep(GIVE_UP_MS, undefined, { signal: over.signal });
      else await new Promise(() => {}); // the saga has cancelled it: it is waited for
      throw error;
    });
    try {
      return await Promise.race([next(input), abandoned]);
    } catch (error) {
      throw isEndOfWorker(cancellationSignal.reason) ? cancellationSignal.reason : error;
    } finally {
      over.abort();
    }
  }
}

function isEndOfWorker(reason: unknown): boolean {
  return reason instanceof CancelledFailure && reason.message === 'WORKER_SHUTDOWN';
}
