import { MayflyError } from '../../model/errors.ts';
import type { Operation } from '../../model/sagas/messages.ts';
import type { SandboxFailure, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { requireSandbox, type ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';

/** Operation on a sandbox at the end of the wait. */
interface OperationResult {
  sandbox: SandboxRecord;
  isOver: boolean;
  /** Error of a failed or lost operation; null: none known. */
  error: MayflyError | null;
}

/**
 * Starts an operation on a sandbox, or joins the one with its id, and waits for its end.
 * @throws MayflyError with which the sandbox's workflow refuses it
 */
export async function operate(
  deps: Pick<ServiceDeps, 'store' | 'sagas' | 'logger'>,
  sandboxId: string,
  operation: Operation,
  wait: WaitLimit,
): Promise<OperationResult> {
  const { sandboxes } = deps.sagas;
  let failure: SandboxFailure | null = null;
  await sandboxes.operate(sandboxId, operation);
  const isOver = await waitWithin(deps, wait, async (signal) => {
    failure = await sandboxes.operated(sandboxId, operation.operationId, signal);
  });
  const sandbox = await requireSandbox(deps, sandboxId);
  return { sandbox, isOver, error: isOver ? errorOf(failure, sandbox) : null };
}

function errorOf(failure: SandboxFailure | null, { id, state }: SandboxRecord): MayflyError | null {
  if (failure) return new MayflyError(failure.code, `${failure.step}: ${failure.message}`);
  if (!isFinal(state) && state !== 'destroying') return null;
  return new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}; what became of the request is in its audit.`);
}
