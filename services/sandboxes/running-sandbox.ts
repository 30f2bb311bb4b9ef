import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { hostOf, isAsleep, isFinal } from '../../model/sandbox/sandbox-state.ts';

export type RunningSandbox = SandboxRecord & HostRef;

/** @throws MayflyError sandbox_ended, sandbox_not_running, sandbox_suspended */
export function usable(record: SandboxRecord): RunningSandbox {
  const { id, state } = record;
  const host = hostOf(record);
  if (isFinal(state) || state === 'destroying')
    throw new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}.`);
  if (state === 'running' && host) return { ...record, ...host };
  throw notRunning(record);
}

/** Why it cannot be used now, though it lives. */
function notRunning({ id, state, spec }: SandboxRecord): MayflyError {
  if (!isAsleep(state)) return new MayflyError('sandbox_not_running', `The sandbox ${id} is ${state}.`);
  if (spec.autoResume) return new MayflyError('sandbox_not_running', `The sandbox ${id} is being resumed.`);
  return new MayflyError('sandbox_suspended', `The sandbox ${id} is ${state}.`);
}
