import { ZodError } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import type { Config } from '../../worker/config/config.ts';
import type { SuspendedForSpace } from '../../worker/upkeep/suspended-for-space.ts';
import { type Io, printable } from '../terminal/io.ts';

/** Error codes for a part that is unavailable, in use, or unreadable here: they count as a result. */
const ABSENT: readonly string[] = ['host_unavailable', 'store_unavailable', 'payload_key_unusable'];

/** Returns the result of an attempt, or why it was impossible: also for data that another version wrote. */
export async function tryCheck<T>(attempt: Promise<T>): Promise<{ result: T } | { why: string }> {
  try {
    return { result: await attempt };
  } catch (error) {
    if (error instanceof MayflyError && ABSENT.includes(error.code)) return { why: error.message };
    if (error instanceof ZodError) return { why: `something here is not as this version writes it: ${firstOf(error)}` };
    throw error;
  }
}

function firstOf({ issues: [first] }: ZodError): string {
  return first ? `${first.path.map(String).join('.') || 'all of it'}: ${first.message}` : 'nobody knows what';
}

/** Sandboxes suspended for space, or the reason why they are unknown. */
type SuspendedForSpaceLook = { stalled: SuspendedForSpace[] } | { stalledUnknown: string };

export async function findSuspended(config: Config): Promise<SuspendedForSpaceLook> {
  const { findSuspendedForSpace } = await import('../../worker/upkeep/suspended-for-space.ts');
  const found = await tryCheck(findSuspendedForSpace(config));
  return 'why' in found ? { stalledUnknown: found.why } : { stalled: found.result };
}

export function suspendedLines(io: Io, look: SuspendedForSpaceLook): string[] {
  if ('stalledUnknown' in look) return [`who waits for room is not known: ${printable(look.stalledUnknown)}`];
  return look.stalled.map(({ id, hostId, waitingFor }) => {
    return `${io.paint('yellow', 'waits')} ${id} on ${printable(hostId ?? 'no host')}: ${printable(waitingFor ?? '')}`;
  });
}
