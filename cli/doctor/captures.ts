import type { Config } from '../../worker/config/config.ts';
import type { CaptureResidue } from '../../worker/upkeep/capture-residue.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import type { Fixing } from './fixing.ts';
import { orWhyNot } from './or-why-not.ts';

/** What `--fix` made of it. */
interface FoundCapture extends CaptureResidue {
  removed: boolean;
}

/** What was found and, if so, why it was not removed; or why nobody knows. */
export type CaptureLook = { captures: FoundCapture[]; capturesNotRemoved?: string } | { capturesUnknown: string };

export async function lookForCaptures(config: Config, { fix, isServed }: Fixing): Promise<CaptureLook> {
  const { askedRemoval } = await import('../../worker/upkeep/asked-removal.ts');
  const { findCaptureResidue, removeCaptureResidue } = await import('../../worker/upkeep/capture-residue.ts');
  const found = await orWhyNot(findCaptureResidue(config));
  if ('why' in found) return { capturesUnknown: found.why };
  const captures = found.result.map((capture) => ({ ...capture, removed: false }));
  if (!fix || !captures.some(({ isSafe }) => isSafe)) return { captures };
  const removal = await orWhyNot(isServed ? askedRemoval(config).captures() : removeCaptureResidue(config));
  if ('why' in removal) return { captures, capturesNotRemoved: removal.why };
  const left = new Set((await findCaptureResidue(config)).map(({ captureId }) => captureId));
  return { captures: captures.map((capture) => ({ ...capture, removed: !left.has(capture.captureId) })) };
}

/** Whether nothing is there that should not be. */
export function isClean(look: CaptureLook): boolean {
  return 'captures' in look && look.captures.every(({ removed }) => removed);
}

export function captureLines(io: Io, look: CaptureLook): string[] {
  if ('capturesUnknown' in look) return [`captures were not looked at: ${printable(look.capturesUnknown)}`];
  const lines = look.captures.map((capture) => `${verdict(io, capture)} ${capture.captureId} ${about(capture)}`);
  if (look.capturesNotRemoved !== undefined) lines.push(`not removed: ${printable(look.capturesNotRemoved)}`);
  else if (look.captures.some(({ removed, isSafe }) => !removed && isSafe)) {
    lines.push('do: `mayfly doctor --fix` removes what is left of captures that failed or were deleted');
  }
  return lines;
}

function verdict(io: Io, { removed, isSafe, recorded }: FoundCapture): string {
  if (removed) return io.paint('green', 'removed');
  if (isSafe) return io.paint('red', 'residue');
  return recorded === null ? io.paint('yellow', 'unknown') : io.paint('red', 'broken');
}

function about({ state, recorded, isSafe }: FoundCapture): string {
  const says = recorded === null ? 'the store has no record of it' : `the store says that it is ${recorded}`;
  if (isSafe) return `${state === 'half' ? 'half made or half removed' : 'whole'}; ${says}`;
  if (recorded === null) return `whole, but ${says}: it may be another store's. It is not removed`;
  return `${state}, but ${says}: it cannot be cloned. Delete it with \`mayfly capture delete\``;
}
