import { LIMITS } from '../../model/limits.ts';
import { archiveBytes, archiveOf, type Found, foundIn } from '../copy/folder.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { usageError } from '../terminal/cli-error.ts';
import { IGNORE_FILE, MANIFEST } from './manifest.ts';

/** Of those that are named when all are too large together. */
const NAMED = 5;

/**
 * The files of a function, as a tar archive: all of its folder but what says so and what that leaves out.
 * @returns null: there is none
 * @throws CliError
 */
export async function filesOf(folder: string): Promise<Uint8Array | null> {
  const found: Found[] = [];
  for await (const entry of foundIn(folder, IGNORE_FILE)) {
    if (entry.path !== MANIFEST && entry.path !== IGNORE_FILE) found.push(entry);
  }
  if (found.length === 0) return null;
  const bytes = archiveBytes(found);
  const { filesBytes } = LIMITS.functions;
  if (bytes > filesBytes) throw tooLarge(folder, found, bytes);
  const pieces: Uint8Array[] = [];
  for await (const piece of archiveOf(folder, found)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function tooLarge(folder: string, found: readonly Found[], bytes: number): Error {
  const largest = found
    .toSorted((a, b) => b.size - a.size)
    .slice(0, NAMED)
    .map((entry) => `${entry.path} (${size(entry.size)})`);
  return usageError(
    `the files of ${folder} take ${size(bytes)}, and ${size(LIMITS.functions.filesBytes)} is the most`,
    `Leave some out by ${IGNORE_FILE}, or build them into a source with \`mayfly image build\`. The largest: ${largest.join(', ')}.`,
  );
}
