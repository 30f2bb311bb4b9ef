import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { Operation } from '../../model/sagas/messages.ts';
import type { SandboxFailure, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { type Attempt, freedWhenRefused } from '../../services/idempotent-attempt.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { waitAsPreferred } from '../http/waiting.ts';

/** What is known of an operation when the wait for it is over. */
export interface Outcome {
  isOver: boolean;
  /** Why it failed. */
  failure: SandboxFailure | null;
}

/** @throws MayflyError what {@link Sagas.operate} refuses with: then the key is free again */
export async function beginOperation(
  { store, sagas }: RequestDeps,
  attempt: Attempt,
  sandboxId: string,
  operation: Operation,
): Promise<void> {
  await freedWhenRefused(store, attempt, () => sagas.sandboxes.operate(sandboxId, operation));
}

/** Waits as long as the caller prefers. */
export async function awaitOperation(
  c: Context<Env>,
  deps: RequestDeps,
  operation: { sandboxId: string; operationId: string },
): Promise<Outcome> {
  const { sandboxId, operationId } = operation;
  let outcome: Outcome = { isOver: false, failure: null };
  await waitAsPreferred(c, async (signal) => {
    outcome = { isOver: true, failure: await deps.sagas.sandboxes.operated(sandboxId, operationId, signal) };
  });
  return outcome;
}

/** Why an operation that is over has not done what it should; null when it has. */
export function failureOf({ failure }: Outcome, { id, state }: SandboxRecord): MayflyError | null {
  if (failure) return new MayflyError(failure.code, `${failure.step}: ${failure.message}`);
  if (!isFinal(state) && state !== 'destroying') return null;
  return new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}; what became of the request is in its audit.`);
}
