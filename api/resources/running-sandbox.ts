import { MayflyError } from '../../model/errors.ts';
import { isAsleep, isFinal, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { RequestDeps } from '../http/context.ts';
import { requireSandbox } from './require-sandbox.ts';

export type RunningSandbox = SandboxRecord & { hostId: string };

/**
 * A sandbox that can be used now, and its host.
 * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running, sandbox_suspended
 */
export async function runningSandbox(deps: Pick<RequestDeps, 'store'>, id: string): Promise<RunningSandbox> {
  return usable(await requireSandbox(deps, id));
}

/** @throws MayflyError sandbox_ended, sandbox_not_running, sandbox_suspended */
export function usable(record: SandboxRecord): RunningSandbox {
  const { id, state, hostId } = record;
  if (isFinal(state) || state === 'destroying')
    throw new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}.`);
  if (state === 'running' && hostId !== null) return { ...record, hostId };
  throw notRunning(record);
}

/** Why it cannot be used now, though it lives. */
function notRunning({ id, state, spec }: SandboxRecord): MayflyError {
  if (!isAsleep(state)) return new MayflyError('sandbox_not_running', `The sandbox ${id} is ${state}.`);
  if (spec.autoResume) return new MayflyError('sandbox_not_running', `The sandbox ${id} is being resumed.`);
  return new MayflyError('sandbox_suspended', `The sandbox ${id} is ${state}.`);
}
