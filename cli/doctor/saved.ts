import type { Config } from '../../worker/config/config.ts';
import type { SavedKind, SavedResidue } from '../../worker/upkeep/saved-residue.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import type { Fixing } from './fixing.ts';
import { orWhyNot } from './or-why-not.ts';

/** Residue of a snapshot or capture, and whether `--fix` removed it. */
interface FoundSaved extends SavedResidue {
  removed: boolean;
}

/** Residue of snapshots or captures and, if so, why it was not removed; or why it is not known. */
export type SavedLook = { found: FoundSaved[]; notRemoved?: string } | { unknown: string };

export async function findSaved(config: Config, kind: SavedKind, { fix, isServed }: Fixing): Promise<SavedLook> {
  const { askedRemoval } = await import('../../worker/upkeep/asked-removal.ts');
  const { findSavedResidue, removeSavedResidue } = await import('../../worker/upkeep/saved-residue.ts');
  const residue = await orWhyNot(findSavedResidue(config, kind));
  if ('why' in residue) return { unknown: residue.why };
  const found = residue.result.map((one) => ({ ...one, removed: false }));
  if (!fix || !found.some(({ isSafe }) => isSafe)) return { found };
  const removal = await orWhyNot(isServed ? askedRemoval(config)[kind]() : removeSavedResidue(config, kind));
  if ('why' in removal) return { found, notRemoved: removal.why };
  const left = new Set((await findSavedResidue(config, kind)).map(({ id }) => id));
  return { found: found.map((one) => ({ ...one, removed: !left.has(one.id) })) };
}

/** Returns whether nothing is there that should not be; a deleted snapshot that something refers to should. */
export function isClean(look: SavedLook): boolean {
  return 'found' in look && look.found.every(({ removed, state, isSafe }) => removed || (state === 'kept' && isSafe));
}

export function savedLines(io: Io, kind: SavedKind, look: SavedLook): string[] {
  if ('unknown' in look) return [`${kind} were not looked at: ${printable(look.unknown)}`];
  const lines = look.found.map((one) => `${verdict(io, one)} ${one.id} ${about(kind, one)}`);
  if (look.notRemoved !== undefined) lines.push(`not removed: ${printable(look.notRemoved)}`);
  else if (look.found.some(({ removed, isSafe, state }) => !removed && isSafe && state !== 'kept')) {
    lines.push(`do: \`mayfly doctor --fix\` removes what is left of ${kind} that failed or were deleted`);
  }
  return lines;
}

function verdict(io: Io, { removed, isSafe, state, recorded }: FoundSaved): string {
  if (removed) return io.paint('green', 'removed');
  if (!isSafe) return recorded === null ? io.paint('yellow', 'unknown') : io.paint('red', 'broken');
  return state === 'kept' ? io.paint('yellow', 'kept') : io.paint('red', 'residue');
}

function about(kind: SavedKind, { state, recorded, isSafe }: FoundSaved): string {
  const says = recorded === null ? 'the store has no record of it' : `the store says that it is ${recorded}`;
  if (state === 'kept' && isSafe) return `deleted, but a sandbox or another snapshot refers to it; ${says}`;
  if (isSafe) return `${state === 'half' ? 'half made or half removed' : 'whole'}; ${says}`;
  if (recorded === null) return `whole, but ${says}: it may be another store's. It is not removed`;
  const [noun, use] = kind === 'snapshots' ? ['snapshot', 'restored'] : ['capture', 'cloned'];
  return `${state}, but ${says}: it cannot be ${use}. Delete it with \`mayfly ${noun} delete\``;
}
