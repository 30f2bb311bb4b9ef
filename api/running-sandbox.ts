import { MayflyError } from '../model/errors.ts';
import { isFinal, type SandboxRecord } from '../model/sandbox.ts';
import type { AppDeps } from './context.ts';
import { existing } from './sandboxes.ts';

/**
 * A sandbox that can be used now, and its host.
 * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running
 */
export async function runningSandbox(
  deps: Pick<AppDeps, 'store'>,
  id: string,
): Promise<SandboxRecord & { hostId: string }> {
  const record = await existing(deps, id);
  const { state, hostId } = record;
  if (isFinal(state) || state === 'destroying')
    throw new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}.`);
  if (state === 'running' && hostId !== null) return { ...record, hostId };
  throw notRunning(record);
}

/** Why it cannot be used now, though it lives. */
export function notRunning({ id, state }: Pick<SandboxRecord, 'id' | 'state'>): MayflyError {
  const remedy = state === 'paused' ? ` Let it go on with POST /v1/sandboxes/${id}/resume.` : '';
  return new MayflyError('sandbox_not_running', `The sandbox ${id} is ${state}.${remedy}`);
}
