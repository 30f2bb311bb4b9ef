import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MayflyError } from '../../model/errors.ts';
import type { FileChangeRecord, GuestName } from '../../model/files/file-change.ts';
import { toGuestName } from '../../model/files/guest-name.ts';
import { isSnapshotId } from '../../model/ids.ts';
import type { Comparison, HostSnapshots } from '../snapshots.ts';
import { answerJson, assertMethod, type Exchange, type Route } from './exchange.ts';
import { compareFile } from './file-comparison.ts';

/** Characters per piece: sending single lines would cost as much as finding them. */
const PIECE_LENGTH = 32_768;

/** Limit of concurrent comparisons: each may take 1 GiB of memory (docs/decisions/0009-snapshots.md). */
const MAX_RUNNING = 4;
const TRY_AGAIN_SECONDS = 5;

export type ComparableSnapshots = Pick<HostSnapshots, 'compare' | 'readFile' | 'changesAsTar'>;

/**
 * Serves `GET /snapshots/{before}/changes/{after}`, `…/tar/…` and `…/file/…`: comparisons of two snapshots of this
 * host. The comparing program ends with the request.
 */
export function snapshotsRoute(snapshots: ComparableSnapshots): Route {
  const answers: Record<string, (exchange: Exchange, before: string, after: string) => Promise<void>> = {
    changes: (exchange, before, after) => sendChanges(snapshots, exchange, { before, after, within: within(exchange) }),
    tar: (exchange, before, after) => sendTar(snapshots, exchange, { before, after, within: within(exchange) }),
    file: async (exchange, before, after) => {
      const [path, ...rest] = pathsOf(exchange, 'path');
      if (path === undefined || rest.length > 0) throw new MayflyError('invalid_request', 'One path is needed.');
      answerJson(exchange.response, 200, await compareFile(snapshots, { before, after, path }, exchange.signal));
    },
  };
  let running = 0;
  return async (exchange) => {
    const [before = '', what = '', after = '', ...rest] = exchange.segments;
    const answer = Object.hasOwn(answers, what) ? answers[what] : undefined;
    if (!answer || !isSnapshotId(before) || !isSnapshotId(after) || rest.length > 0) {
      throw new MayflyError('not_found', 'The relay has nothing at that path.');
    }
    assertMethod(exchange, 'GET');
    if (running >= MAX_RUNNING) throw tooMany();
    running++;
    try {
      await answer(exchange, before, after);
    } finally {
      running--;
    }
  };
}

function tooMany(): MayflyError {
  const why = `This host compares ${MAX_RUNNING} pairs of snapshots at this moment, which is as many as it may.`;
  return new MayflyError('too_many_requests', why, { retryAfterSeconds: TRY_AGAIN_SECONDS });
}

function within(exchange: Exchange): GuestName[] {
  return pathsOf(exchange, 'within');
}

function pathsOf({ query }: Exchange, name: string): GuestName[] {
  return query.getAll(name).map((path) => toGuestName(Buffer.from(path, 'base64url')));
}

/** Sends lines of JSON. An answer that ends without `end`, or with `error`, is incomplete. */
async function sendChanges(
  snapshots: ComparableSnapshots,
  { response, signal }: Exchange,
  comparison: Comparison,
): Promise<void> {
  const records = snapshots.compare(comparison, signal)[Symbol.asyncIterator]();
  try {
    const first = await records.next(); // an error before the first record gets an error status
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    response.flushHeaders();
    await pipeline(Readable.from(piecesOf(first, records)), response, { signal });
  } finally {
    await records.return?.();
  }
}

async function* piecesOf(first: IteratorResult<FileChangeRecord>, records: AsyncIterator<FileChangeRecord>) {
  let piece = '';
  try {
    for (let next = first; next.done !== true; next = await records.next()) {
      piece += `${JSON.stringify(next.value)}\n`;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
    }
  } catch (error) {
    if (!(error instanceof MayflyError)) throw error;
    piece += `${JSON.stringify({ line: 'error', code: error.code, message: error.message })}\n`;
  }
  yield piece;
}

async function sendTar(
  snapshots: ComparableSnapshots,
  { response, signal }: Exchange,
  comparison: Comparison,
): Promise<void> {
  const archive = snapshots.changesAsTar(comparison, signal);
  const pieces: AsyncIterator<Buffer> = archive[Symbol.asyncIterator]();
  try {
    const first = await pieces.next();
    response.writeHead(200, { 'Content-Type': 'application/x-tar' });
    await pipeline(Readable.from(prependFirst(first, pieces)), response, { signal });
  } finally {
    archive.destroy();
  }
}

async function* prependFirst<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncGenerator<T> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
}
