import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { ID_BYTES, operationIdFrom } from '../../model/ids.ts';
import type { Actor, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { getHost, isFinal, isSuspended } from '../../model/sandbox/sandbox-state.ts';
import { requireSandbox, type ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';

/** Poll interval for a busy sandbox, ms. */
const POLL_MS = 250;

/** True when a use of the sandbox resumes it. */
export function isResumable({ state, spec }: Pick<SandboxRecord, 'state' | 'spec'>): boolean {
  return isSuspended(state) && spec.autoResume;
}

/** Starts a resume. @returns its operation id; null when the sandbox is busy, perhaps with another resume */
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
 * Waits until a sandbox is resumed, by the given operation or another one.
 * @throws MayflyError of the failed resume; the signal's reason
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

type Deps = Pick<ServiceDeps, 'store' | 'sagas' | 'logger'>;

/**
 * Returns a usable sandbox. Resumes a paused or hibernated one with `autoResume`: once for all callers, even when they
 * disconnect.
 * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running; errors of the resume
 */
export async function ensureRunning(deps: Deps, id: string, actor: Actor, wait: WaitLimit): Promise<RunningSandbox> {
  return assertRunning(await resumeSandbox(deps, id, actor, wait));
}

/**
 * Resumes as {@link ensureRunning} does, and returns the sandbox in its state at the end of the wait, perhaps not
 * resumed yet.
 */
export async function resumeSandbox(deps: Deps, id: string, actor: Actor, wait: WaitLimit): Promise<SandboxRecord> {
  const record = await requireSandbox(deps, id);
  if (!isResumable(record)) return record;
  const operationId = await startResume(deps, id, actor);
  await waitWithin(deps, wait, (signal) => awaitResume(deps, { id, operationId, actor }, signal));
  return requireSandbox(deps, id);
}

/** Returns the same bytes, and marks the sandbox as active with each chunk. */
export function touchWhileStreaming(
  { store }: Pick<ServiceDeps, 'store'>,
  sandboxId: string,
  bytes: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  async function* touching() {
    for await (const chunk of bytes) {
      store.activity.touch(sandboxId).catch(() => {}); // without the store no hibernation for idleness happens either
      yield chunk;
    }
  }
  return ReadableStream.from(touching());
}

export type RunningSandbox = SandboxRecord & HostRef;

/** @throws MayflyError sandbox_ended, sandbox_not_running, sandbox_suspended */
export function assertRunning(record: SandboxRecord): RunningSandbox {
  const { id, state } = record;
  const host = getHost(record);
  if (isFinal(state) || state === 'destroying')
    throw new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}.`);
  if (state === 'running' && host) return { ...record, ...host };
  throw notRunning(record);
}

/** Returns why a live sandbox cannot be used now. */
function notRunning({ id, state, spec }: SandboxRecord): MayflyError {
  if (!isSuspended(state)) return new MayflyError('sandbox_not_running', `The sandbox ${id} is ${state}.`);
  if (spec.autoResume) return new MayflyError('sandbox_not_running', `The sandbox ${id} is being resumed.`);
  return new MayflyError('sandbox_suspended', `The sandbox ${id} is ${state}.`);
}
