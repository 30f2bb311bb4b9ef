import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { FileChange, FileChangeCounts } from '../../model/files/file-change.ts';
import { LIMITS } from '../../model/limits.ts';
import { type ChangeLine, changeLines } from '../../services/diff/change-lines.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { problemOf } from '../http/problem.ts';
import { commandsBetween } from './commands-between.ts';
import type { Comparison } from './comparison.ts';
import { type diffAnswer, type diffLine, fileAnswer } from './diff-schemas.ts';

/** All changes counted, and the first of them. */
export async function listedChanges(
  { store }: RequestDeps,
  comparison: Comparison,
  within: Uint8Array[],
  limit: number,
): Promise<z.infer<typeof diffAnswer>> {
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

/** One file. */
export async function comparedFile(comparison: Comparison, path: Uint8Array): Promise<z.infer<typeof fileAnswer>> {
  return fileAnswer.parse(await (await comparison.ask('file', 'path', [path])).json());
}

/** All changes as lines, the commands first. */
export async function* changesAsLines(
  c: Context<Env>,
  deps: RequestDeps,
  comparison: Comparison,
  within: Uint8Array[],
) {
  try {
    const response = await comparison.ask('changes', 'within', within);
    const { sides, before, after } = comparison;
    yield encoded({ line: 'start', ...sides, commands: await commandsBetween(deps.store, before, after) });
    yield* orWhyNot(c, deps, changeLines(response));
  } finally {
    await comparison.close();
  }
}

/** What fails in the middle is the last line: an answer that just ended could be taken for a whole one. */
async function* orWhyNot(
  c: Context<Env>,
  { logger }: RequestDeps,
  changes: AsyncGenerator<ChangeLine[], void, undefined>,
) {
  try {
    for await (const lines of changes) yield Buffer.from(lines.map(({ text }) => `${text}\n`).join(''));
  } catch (error) {
    if (c.req.raw.signal.aborted) return;
    logger.warn({ err: error, requestId: c.get('requestId') }, 'a comparison broke off');
    const known =
      error instanceof MayflyError ? error : new MayflyError('internal', 'Something went wrong that nobody foresaw.');
    yield encoded({ line: 'error', problem: problemOf(c, known) });
  }
}

/** What was added or changed. What fails in the middle breaks the connection: a tar archive cannot say it. */
export async function* changesAsTar(comparison: Comparison, within: Uint8Array[]) {
  try {
    yield* (await comparison.ask('tar', 'within', within)).body ?? [];
  } finally {
    await comparison.close();
  }
}

function encoded(line: z.infer<typeof diffLine>): Uint8Array {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}
