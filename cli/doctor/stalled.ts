import type { Config } from '../../worker/config/config.ts';
import type { StalledSandbox } from '../../worker/upkeep/stalled.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { orWhyNot } from './or-why-not.ts';

/** Sandboxes that wait for room, or why nobody knows. */
export type StalledLook = { stalled: StalledSandbox[] } | { stalledUnknown: string };

export async function lookForStalled(config: Config): Promise<StalledLook> {
  const { findStalled } = await import('../../worker/upkeep/stalled.ts');
  const found = await orWhyNot(findStalled(config));
  return 'why' in found ? { stalledUnknown: found.why } : { stalled: found.result };
}

export function stalledLines(io: Io, look: StalledLook): string[] {
  if ('stalledUnknown' in look) return [`who waits for room is not known: ${printable(look.stalledUnknown)}`];
  return look.stalled.map(({ id, hostId, waitingFor }) => {
    return `${io.paint('yellow', 'waits')} ${id} on ${printable(hostId ?? 'no host')}: ${printable(waitingFor ?? '')}`;
  });
}
