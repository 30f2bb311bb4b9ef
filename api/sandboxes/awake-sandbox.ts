import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'hono';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { ID_BYTES, operationIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isAsleep } from '../../model/sandbox/sandbox.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { waitWithin } from '../http/waiting.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { type RunningSandbox, usable } from '../resources/running-sandbox.ts';

/** How often a sandbox is looked at with which something else is being done. Milliseconds. */
const POLL_MS = 250;

/**
 * A sandbox that can be used now. One that is paused or hibernated is resumed first, if it wants that (`autoResume`):
 * once, however many ask, and whether or not they stay.
 * @param seconds how long to wait for that
 * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running; why it could not be resumed
 */
export async function awakeSandbox(
  c: Context<Env>,
  deps: RequestDeps,
  id: string,
  seconds: number = LIMITS.waitSeconds.default,
): Promise<RunningSandbox> {
  return usable(await resumedSandbox(c, deps, id, seconds));
}

/** As {@link awakeSandbox}, but whatever it is when the wait is over: perhaps still about to be resumed. */
export async function resumedSandbox(
  c: Context<Env>,
  deps: RequestDeps,
  id: string,
  seconds: number,
): Promise<SandboxRecord> {
  const record = await requireSandbox(deps, id);
  if (!isResumable(record)) return record;
  const actor = actorOf(c);
  const operationId = await beginResume(deps, id, actor);
  await waitWithin(c, deps, seconds, (signal) => resumed(deps, { id, operationId, actor }, signal));
  return requireSandbox(deps, id);
}

/** Whether it sleeps, and a use of it is to end that. */
export function isResumable({ state, spec }: Pick<SandboxRecord, 'state' | 'spec'>): boolean {
  return isAsleep(state) && spec.autoResume;
}

/** @returns null when something is being done to it, which may be just that */
export async function beginResume(
  { sagas }: Pick<RequestDeps, 'sagas'>,
  id: string,
  actor: Actor,
): Promise<string | null> {
  const operationId = operationIdFrom(randomBytes(ID_BYTES));
  try {
    await sagas.operate(id, { kind: 'resume', operationId, actor });
    return operationId;
  } catch (error) {
    if (isMayflyError(error, 'sandbox_busy')) return null;
    throw error;
  }
}

/**
 * Until it was resumed, by one that has begun or by another.
 * @throws MayflyError why it could not be resumed; the signal's reason
 */
export async function resumed(
  deps: Pick<RequestDeps, 'sagas' | 'store'>,
  { id, operationId, actor }: { id: string; operationId: string | null; actor: Actor },
  signal: AbortSignal,
): Promise<void> {
  let own = operationId;
  while (own === null) {
    await sleep(POLL_MS, undefined, { signal });
    if (!isResumable(await requireSandbox(deps, id))) return;
    own = await beginResume(deps, id, actor);
  }
  const failure = await deps.sagas.operated(id, own, signal);
  if (failure) throw new MayflyError(failure.code, `It could not be resumed: ${failure.step}: ${failure.message}`);
}
