import { isSameHost } from '../../model/host.ts';
import { runUntil } from '../saga/cancellation.ts';
import { refusal } from '../saga/failure.ts';
import type { SandboxEntity } from './entity.ts';

/** Host, or a record's reference to one. */
type MaybeHost = Parameters<typeof isSameHost>[0];

export function isDecommissioned({ state }: SandboxEntity, host: MaybeHost): boolean {
  return state.decommissioned.some((one) => isSameHost(host, one));
}

/** Waits for a step on a host, until an admin decommissions the host. @throws ApplicationFailure host_forgotten */
export async function awaitHost<T>(entity: SandboxEntity, host: MaybeHost, step: () => Promise<T>): Promise<T> {
  const isGone = () => isDecommissioned(entity, host);
  const done = isGone() ? null : await runUntil(isGone, step);
  if (done) return done.value;
  throw refusal('host_forgotten', `${host.hostId} was forgotten while ${entity.id} waited for it.`);
}

/** Runs steps on a host. @returns null when a decommission of the host cut them short */
export async function unlessDecommissioned<T>(
  entity: SandboxEntity,
  host: MaybeHost,
  run: () => Promise<T>,
): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (!isDecommissioned(entity, host)) throw error;
    return null;
  }
}
