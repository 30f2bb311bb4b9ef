import type { Logger } from 'pino';
import { MayflyError } from '../../model/errors.ts';
import type { FileChange, FileChangeCounts } from '../../model/files/file-change.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { Problem } from '../problems/problem.ts';
import { changeLines } from './change-lines.ts';
import { commandsBetween } from './commands-between.ts';
import type { Comparison } from './comparison.ts';

/** Counts all changes, and returns the first of them. */
export async function listedChanges(store: ProjectStore, comparison: Comparison, within: Uint8Array[], limit: number) {
  const { before, after } = comparison;
  const changes: FileChange[] = [];
  let counts: FileChangeCounts = { added: 0, changed: 0, removed: 0, renamed: 0 };
  let [length, isCut] = [0, false];
  for await (const lines of changeLines(await comparison.ask('changes', 'within', within))) {
    for (const line of lines) {
      if (line.line === 'end') counts = line.counts;
      else {
        length += line.text.length;
        isCut ||= changes.length >= limit || length > LIMITS.diff.changesLength;
        if (!isCut) changes.push(line.change);
      }
    }
  }
  return { ...comparison.sides, counts, changes, isCut, commands: await commandsBetween(store, before, after) };
}

interface Told {
  store: ProjectStore;
  logger: Logger;
  signal: AbortSignal;
  problemOf: (error: MayflyError) => Problem;
}

/**
 * Yields all changes as lines, the commands first. What fails in the middle is the last line: an answer that just ended could be
 * taken for a whole one.
 */
export async function* changesAsLines(
  comparison: Comparison,
  within: Uint8Array[],
  { store, logger, signal, problemOf }: Told,
) {
  try {
    const response = await comparison.ask('changes', 'within', within);
    const { sides, before, after } = comparison;
    yield encoded({ line: 'start', ...sides, commands: await commandsBetween(store, before, after) });
    try {
      for await (const lines of changeLines(response)) yield Buffer.from(lines.map(({ text }) => `${text}\n`).join(''));
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error }, 'a comparison broke off');
      const isKnown = error instanceof MayflyError;
      const known = isKnown ? error : new MayflyError('internal', 'Something went wrong that nobody foresaw.');
      yield encoded({ line: 'error', problem: problemOf(known) });
    }
  } finally {
    await comparison.close();
  }
}

/** Yields an archive of what was added or changed. What fails in the middle breaks the connection: a tar archive cannot say it. */
export async function* changesAsTar(comparison: Comparison, within: Uint8Array[]) {
  try {
    yield* (await comparison.ask('tar', 'within', within)).body ?? [];
  } finally {
    await comparison.close();
  }
}

function encoded(line: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}
