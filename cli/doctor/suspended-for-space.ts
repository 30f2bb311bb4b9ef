import type { Config } from '../../worker/config/config.ts';
import type { SuspendedForSpace } from '../../worker/upkeep/suspended-for-space.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { orWhyNot } from './or-why-not.ts';

/** Sandboxes that wait for room, or why nobody knows. */
type SuspendedForSpaceLook = { stalled: SuspendedForSpace[] } | { stalledUnknown: string };

export async function lookForSuspended(config: Config): Promise<SuspendedForSpaceLook> {
  const { findSuspendedForSpace } = await import('../../worker/upkeep/suspended-for-space.ts');
  const found = await orWhyNot(findSuspendedForSpace(config));
  return 'why' in found ? { stalledUnknown: found.why } : { stalled: found.result };
}

export function suspendedLines(io: Io, look: SuspendedForSpaceLook): string[] {
  if ('stalledUnknown' in look) return [`who waits for room is not known: ${printable(look.stalledUnknown)}`];
  return look.stalled.map(({ id, hostId, waitingFor }) => {
    return `${io.paint('yellow', 'waits')} ${id} on ${printable(hostId ?? 'no host')}: ${printable(waitingFor ?? '')}`;
  });
}
