import type { Context } from 'hono';
import { LIMITS } from '../../model/limits.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { requireSandbox } from '../../services/require.ts';
import { beginResume, isResumable, resumed } from '../../services/sandboxes/resume.ts';
import { type RunningSandbox, usable } from '../../services/sandboxes/running-sandbox.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { waitWithin } from '../http/waiting.ts';

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
