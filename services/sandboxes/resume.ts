import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { ID_BYTES, operationIdFrom } from '../../model/ids.ts';
import type { Actor, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isAsleep } from '../../model/sandbox/sandbox-state.ts';
import { requireSandbox } from '../require.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Poll interval for a sandbox that is busy with something else, ms. */
const POLL_MS = 250;

/** Whether a use of a sandbox resumes it. */
export function isResumable({ state, spec }: Pick<SandboxRecord, 'state' | 'spec'>): boolean {
  return isAsleep(state) && spec.autoResume;
}

/** Starts a resume. @returns its operation id; null: the sandbox is busy, perhaps with another resume */
export async function startResume(
  { sagas }: Pick<ServiceDeps, 'sagas'>,
  id: string,
  actor: Actor,
): Promise<string | null> {
  const operationId = operationIdFrom(randomBytes(ID_BYTES));
  try {
    await sagas.sandboxes.operate(id, { kind: 'resume', operationId, actor });
    return operationId;
  } catch (error) {
    if (isMayflyError(error, 'sandbox_busy')) return null;
    throw error;
  }
}

/**
 * Waits until a sandbox is resumed, by the operation that was started or by another one.
 * @throws MayflyError why it could not be resumed; the signal's reason
 */
export async function awaitResume(
  deps: Pick<ServiceDeps, 'sagas' | 'store'>,
  { id, operationId, actor }: { id: string; operationId: string | null; actor: Actor },
  signal: AbortSignal,
): Promise<void> {
  let own = operationId;
  while (own === null) {
    await sleep(POLL_MS, undefined, { signal });
    if (!isResumable(await requireSandbox(deps, id))) return;
    own = await startResume(deps, id, actor);
  }
  const failure = await deps.sagas.sandboxes.operated(id, own, signal);
  if (failure) throw new MayflyError(failure.code, `It could not be resumed: ${failure.step}: ${failure.message}`);
}
