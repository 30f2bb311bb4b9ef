import type { Actor, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { requireSandbox } from '../require.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';
import { awaitResume, isResumable, startResume } from './resume.ts';
import { type RunningSandbox, usable } from './running-sandbox.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas' | 'logger'>;

/**
 * Returns a sandbox that can be used now. One that is paused or hibernated is resumed first, if it wants that (`autoResume`):
 * once for all callers, and whether or not they stay connected.
 * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running; why it could not be resumed
 */
export async function awakeSandbox(deps: Deps, id: string, actor: Actor, wait: WaitLimit): Promise<RunningSandbox> {
  return usable(await resumeSandbox(deps, id, actor, wait));
}

/** As {@link awakeSandbox}, but in whatever state it is when the wait is over: perhaps still about to be resumed. */
export async function resumeSandbox(deps: Deps, id: string, actor: Actor, wait: WaitLimit): Promise<SandboxRecord> {
  const record = await requireSandbox(deps, id);
  if (!isResumable(record)) return record;
  const operationId = await startResume(deps, id, actor);
  await waitWithin(deps, wait, (signal) => awaitResume(deps, { id, operationId, actor }, signal));
  return requireSandbox(deps, id);
}
