import { AsyncLocalStorage } from 'node:async_hooks';
import { Context } from '@temporalio/activity';
import type { StepContext } from '../../host/step-context.ts';

const current = new AsyncLocalStorage<StepContext>();

/** Runs an activity as a host step, whose signal is also aborted when a newer step fences it off. */
export function withStepContext<T>(context: StepContext, run: () => Promise<T>): Promise<T> {
  return current.run(context, run);
}

/** Returns the step's abort signal and heartbeat. */
export function stepContext(): StepContext {
  const step = current.getStore();
  if (step) return step;
  const context = Context.current();
  return { signal: context.cancellationSignal, alive: (detail) => context.heartbeat(detail) };
}

/**
 * Heartbeats four times per heartbeat timeout, so Temporal notices a dead worker, and the work a cancel.
 * @param doing detail until the work reports another
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
