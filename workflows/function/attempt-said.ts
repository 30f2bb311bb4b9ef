import type { SaidAttempt } from '../../activities/function/known-attempt.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';

/** What the store is told of an attempt: one that was set back knows it from here. */
export function saidOf({ runId, n, sandboxId, commandId, begunAt, tries }: BegunAttempt): SaidAttempt {
  return { runId, n, sandboxId, commandId, begunAt, tries };
}
