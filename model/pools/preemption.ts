import type { HostRecord } from '../host.ts';
import type { Shortage, Size } from '../project-limits.ts';
import type { SandboxState } from '../sandbox/sandbox-state.ts';

/** A member of a pool that nobody has claimed. */
export interface SpareMember {
  state: SandboxState;
  size?: Size | undefined;
}

const NO_SIZE: Size = { cpus: 0, memoryMib: 0 };

/**
 * Selects the members that make up for a shortage: ready ones first, then unfinished ones, then those that end already.
 * @returns null: all of them would not do
 */
export function selectVictims<M extends SpareMember>(shortage: Shortage, members: readonly M[]): M[] | null {
  let left = shortage;
  const victims: M[] = [];
  for (const member of readyFirst(members)) {
    if (isMet(left)) break;
    victims.push(member);
    const { cpus, memoryMib } = member.size ?? NO_SIZE;
    left = { sandboxes: left.sandboxes - 1, cpus: left.cpus - cpus, memoryMib: left.memoryMib - memoryMib };
  }
  return isMet(left) ? victims : null;
}

/** Those that are ready, which are gone soonest, then those that are being made. */
export function readyFirst<M extends SpareMember>(members: readonly M[]): M[] {
  return members.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/**
 * Whether a host may have memory for a sandbox when all of these are gone. What it promises beside them is not known here, so
 * it may refuse all the same; but nothing is evicted for what is larger than the host.
 */
export function mayHaveRoom(
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
