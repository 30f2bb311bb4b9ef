import type { HostRecord } from '../host.ts';
import type { Shortage, Size } from '../project-limits.ts';
import type { SandboxState } from '../sandbox/sandbox-state.ts';

/** Unclaimed member of a pool. */
export interface SpareMember {
  state: SandboxState;
  size?: Size | undefined;
}

const NO_SIZE: Size = { cpus: 0, memoryMib: 0 };

/**
 * Selects the members that make up for a shortage: ready ones first, then unfinished ones, then ending ones.
 * @returns null when all of them together do not suffice
 */
export function selectVictims<M extends SpareMember>(shortage: Shortage, members: readonly M[]): M[] | null {
  let left = shortage;
  const victims: M[] = [];
  for (const member of sortReadyFirst(members)) {
    if (isMet(left)) break;
    victims.push(member);
    const { cpus, memoryMib } = member.size ?? NO_SIZE;
    left = { sandboxes: left.sandboxes - 1, cpus: left.cpus - cpus, memoryMib: left.memoryMib - memoryMib };
  }
  return isMet(left) ? victims : null;
}

/** Sorts ready members first, since they end soonest, then unfinished ones, then ending ones. */
export function sortReadyFirst<M extends SpareMember>(members: readonly M[]): M[] {
  return members.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/**
 * True when a host may have memory for a sandbox after these members end. Its other promises are unknown here, so it
 * may still refuse; but nothing is evicted for a sandbox larger than the host.
 */
export function canFreeCapacity(
  { capacity, sources }: Pick<HostRecord, 'capacity' | 'sources'>,
  members: readonly SpareMember[],
  { source, memoryMib }: { source: string; memoryMib: number | null },
): boolean {
  const wanted = memoryMib ?? sources.find(({ name }) => name === source)?.memoryMib ?? 0;
  const freed = members.reduce((sum, { size = NO_SIZE }) => sum + size.memoryMib, 0);
  return wanted <= capacity.memoryAvailableMib + freed;
}

function rankOf({ state }: SpareMember): number {
  if (state === 'warm') return 0;
  return state === 'destroying' ? 2 : 1;
}

function isMet({ sandboxes, cpus, memoryMib }: Shortage): boolean {
  return sandboxes <= 0 && cpus <= 0 && memoryMib <= 0;
}
