import { AsyncLocalStorage } from 'node:async_hooks';
import { Context } from '@temporalio/activity';
import type { StepContext } from '../../host/step-context.ts';

const current = new AsyncLocalStorage<StepContext>();

/** Runs an activity as a host step: with a signal that also ends it when a newer step overtakes it. */
export function asStep<T>(context: StepContext, run: () => Promise<T>): Promise<T> {
  return current.run(context, run);
}

/** What a host step needs of the activity it runs in: how it is stopped, and how it says that it is alive. */
export function stepContext(): StepContext {
  const step = current.getStore();
  if (step) return step;
  const context = Context.current();
  return { signal: context.cancellationSignal, alive: (detail) => context.heartbeat(detail) };
}

/**
 * Heartbeats four times in its heartbeat timeout: Temporal notices a dead worker, the work a cancel. @param doing told
 * until the work says something else
 */
export async function withHeartbeats<T>(
  doing: string | (() => string),
  work: (context: StepContext) => Promise<T>,
  context = Context.current(),
): Promise<T> {
  let detail = doing;
  const say = () => context.heartbeat(typeof detail === 'string' ? detail : detail());
  const beat = setInterval(say, (context.info.heartbeatTimeoutMs ?? 4_000) / 4);
  const alive = (text: string) => {
    detail = text;
  };
  try {
    return await work({ signal: context.cancellationSignal, alive });
  } finally {
    clearInterval(beat);
  }
}
