import type { Logger } from 'pino';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import type { FileChange, FileChangeCounts } from '../../model/files/file-change.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { Problem } from '../problems/problem.ts';
import type { Comparison } from './comparison.ts';

/**
 * Limit of a line, characters. The longest has a path of 32 KiB and 1 MiB of extended attributes, encoded, before and
 * after.
 */
const MAX_LENGTH = 8 * 1_024 * 1_024;

/** Line of the relay, raw and parsed. */
type ChangeLine =
  | { text: string; line: 'change'; change: FileChange }
  | { text: string; line: 'end'; counts: FileChangeCounts };

type Parsed =
  | ({ line: 'change' } & FileChange)
  | ({ line: 'end' } & FileChangeCounts)
  | { line: 'error'; code: string; message: string };

/**
 * Yields the lines of a host's comparison, in batches as they arrive.
 * @throws MayflyError after any number of lines, with the cause; a stream without `end` always throws
 */
async function* changeLines(response: Response): AsyncGenerator<ChangeLine[], void, undefined> {
  let whole = false;
  for await (const texts of textsOf(response)) {
    const lines: ChangeLine[] = [];
    try {
      for (const text of texts) {
        lines.push(parseLine(text));
      }
    } catch (error) {
      yield lines;
      throw error;
    }
    whole ||= lines.at(-1)?.line === 'end';
    yield lines;
  }
  if (!whole) throw new MayflyError('host_unavailable', 'The host broke off before it had compared everything.');
}

/** Yields the complete lines of each chunk. */
async function* textsOf({ body }: Response): AsyncGenerator<string[], void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of body ?? []) {
      const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = texts.pop() ?? '';
      if (rest.length > MAX_LENGTH) throw new MayflyError('internal', 'The host sent a line without an end.');
      if (texts.length > 0) yield texts;
    }
  } catch (cause) {
    if (cause instanceof MayflyError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MayflyError('host_unavailable', `The host went away while it compared: ${why}.`, { cause });
  }
}

/** Parses a line. The host has validated it, since it comes from the program that reads guests' disks. */
function parseLine(text: string): ChangeLine {
  const { line, ...said } = JSON.parse(text) as Parsed;
  if (line === 'change') return { text, line, change: said as FileChange };
  if (line === 'end') return { text, line, counts: said as FileChangeCounts };
  const { code, message } = said as Extract<Parsed, { line: 'error' }>;
  throw new MayflyError(isErrorCode(code) ? code : 'internal', message);
}

/** Counts all changes, and returns the first of them. */
export async function listChanges(store: ProjectStore, comparison: Comparison, within: Uint8Array[], limit: number) {
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

interface LineOptions {
  store: ProjectStore;
  logger: Logger;
  signal: AbortSignal;
  problemOf: (error: MayflyError) => Problem;
}

/**
 * Yields all changes as lines, the commands first. A failure is the last line, since a truncated answer would look
 * complete.
 */
export async function* changesAsLines(
  comparison: Comparison,
  within: Uint8Array[],
  { store, logger, signal, problemOf }: LineOptions,
) {
  try {
    const response = await comparison.ask('changes', 'within', within);
    const { sides, before, after } = comparison;
    yield encodeLine({ line: 'start', ...sides, commands: await commandsBetween(store, before, after) });
    try {
      for await (const lines of changeLines(response)) yield Buffer.from(lines.map(({ text }) => `${text}\n`).join(''));
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error }, 'a comparison broke off');
      const isKnown = error instanceof MayflyError;
      const known = isKnown ? error : new MayflyError('internal', 'Something went wrong that nobody foresaw.');
      yield encodeLine({ line: 'error', problem: problemOf(known) });
    }
  } finally {
    await comparison.close();
  }
}

/** Yields an archive of the added and changed files. A failure breaks the connection: tar has no error entry. */
export async function* changesAsTar(comparison: Comparison, within: Uint8Array[]) {
  try {
    yield* (await comparison.ask('tar', 'within', within)).body ?? [];
  } finally {
    await comparison.close();
  }
}

function encodeLine(line: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}

/** Period of the commands that led from one state to the other. */
interface Time {
  sandboxId: string;
  from: string;
  to: string;
}

/** Returns the commands that ran between two snapshots, given in any order. */
async function commandsBetween(
  store: Pick<ProjectStore, 'commands' | 'sandboxes'>,
  a: SnapshotRecord,
  b: SnapshotRecord,
) {
  const time = await timeBetween(store, a, b);
  if (!time) {
    const unknown = `${a.id} is of ${a.sandboxId} and ${b.id} of ${b.sandboxId}, which did not begin as it: what ran in either is not told apart.`;
    return { items: [], isCut: false, unknown };
  }
  const { commands: limit } = LIMITS.diff;
  const found = await store.commands.between({ ...time, limit: limit + 1 });
  return { items: found.slice(0, limit).map(viewOf), isCut: found.length > limit, unknown: null };
}

/** Returns the period between two snapshots of one sandbox, or of a sandbox and its fork; else null. */
async function timeBetween(
  store: Pick<ProjectStore, 'sandboxes'>,
  a: SnapshotRecord,
  b: SnapshotRecord,
): Promise<Time | null> {
  const [earlier, later] = savedAt(a) <= savedAt(b) ? [a, b] : [b, a];
  const time = { sandboxId: later.sandboxId, from: savedAt(earlier), to: savedAt(later) };
  if (earlier.sandboxId === later.sandboxId) return time;
  const fork = await store.sandboxes.get(later.sandboxId);
  return fork?.spec.snapshotId === earlier.id ? time : null;
}

function savedAt({ saved, createdAt }: SnapshotRecord): string {
  return saved?.savedAt ?? createdAt;
}

function viewOf({ id, sandboxId, spec, state, outcome, exitCode, signal, startedAt, endedAt }: CommandRecord) {
  const { command, argv } = spec;
  return { id, sandboxId, command, argv, state, outcome, exitCode, signal, startedAt, endedAt };
}
