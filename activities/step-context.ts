import { Context } from '@temporalio/activity';
import type { StepContext } from '../host/hypervisor.ts';

/** What a host step needs of the activity it runs in: how it is stopped, and how it says that it is alive. */
export function stepContext(): StepContext {
  const context = Context.current();
  return {
    signal: context.cancellationSignal,
    alive: (detail) => context.heartbeat(detail),
  };
}
