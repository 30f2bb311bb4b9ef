import { once } from 'node:events';
import { MayflyError } from '../../model/errors.ts';
import { readSmall } from '../guest/agent-body.ts';
import type { SourceFileAbout } from '../source/gate-client.ts';
import { answerJson, assertMethod, type Exchange, type Route } from './exchange.ts';
import { type ByteRange, rangeOf } from './range.ts';
import type { SourceFile, SourceRelay } from './sources.ts';

/** Limit of a parsed command: at most 4096 characters of text; as JSON, all escaped, some ten times as much. Bytes. */
const REQUEST_BYTES = 256 * 1024;
/** Bytes per request to the gate; a longer file takes several. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Serves `POST /sources/{name}/run` and `GET /sources/{name}/files?path=…`. */
export function sourceRoute(relay: SourceRelay): Route {
  return async (exchange) => {
    const [name = '', part, ...rest] = exchange.segments;
    if (rest.length > 0 || (part !== 'run' && part !== 'files')) {
      throw new MayflyError('not_found', 'The relay has nothing at that path.');
    }
    if (part === 'run') await run(relay, name, exchange);
    else await sendFile(relay, name, exchange);
  };
}

async function run(relay: SourceRelay, name: string, exchange: Exchange): Promise<void> {
  assertMethod(exchange, 'POST');
  const body = await readSmall(exchange.request, REQUEST_BYTES, 'body_too_large');
  answerJson(exchange.response, 200, await relay.run(name, parseBody(body), exchange.signal));
}

function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new MayflyError('invalid_json', 'The body is not JSON.', { cause });
  }
}

/** Sends a file with the same headers as the agent in sandboxes, so that clients can read both. */
async function sendFile(relay: SourceRelay, name: string, exchange: Exchange): Promise<void> {
  assertMethod(exchange, 'GET');
  const { query, request, response, signal } = exchange;
  const path = query.get('path') ?? '';
  const ask = (offset: number, length: number) => relay.file(name, { path, offset, length }, signal);
  const range = rangeOf(request.headers.range);
  // The file's length must be known before the end of a range can be.
  let first = await ask(range?.first ?? 0, range?.last === undefined ? PIECE_BYTES : lengthOf(range, PIECE_BYTES));
  const { about } = first;
  response.setHeader('X-Mayfly-Type', about.type);
  if (about.type === 'directory') return sendListing(exchange, first);
  if (!range && hasFalseSize(first)) return sendAsRead(exchange, first);
  if (range?.suffix !== undefined) first = await ask(Math.max(0, about.size - range.suffix), PIECE_BYTES);
  const start = range?.suffix === undefined ? (range?.first ?? 0) : Math.max(0, about.size - range.suffix);
  const end = Math.min(about.size, range?.last === undefined ? about.size : range.last + 1);
  if (range && start >= end) throw unsatisfiable(exchange, about);
  const status = range ? 206 : 200;
  if (range) response.setHeader('Content-Range', `bytes ${start}-${end - 1}/${about.size}`);
  response.strictContentLength = true;
  response.writeHead(status, { ...headersOf(about), 'Content-Length': end - start });
  for (let at = start, piece = first; at < end; piece = await ask(at, Math.min(PIECE_BYTES, end - at))) {
    if (etagOf(piece.about) !== etagOf(about) || piece.bytes.length === 0) {
      throw new MayflyError('file_conflict', 'The file was changed while it was read.');
    }
    const bytes = piece.bytes.subarray(0, end - at);
    at += bytes.length;
    if (!response.write(bytes)) await once(response, 'drain', { signal });
    if (at >= end) break;
  }
  response.end();
}

/** Detects files with a false size: those of /proc claim to be empty, and those of /sys to have a page. */
function hasFalseSize({ about, bytes }: SourceFile): boolean {
  return about.size === 0 ? bytes.length > 0 : bytes.length < Math.min(about.size, PIECE_BYTES);
}

function sendAsRead({ response }: Exchange, { about, bytes }: SourceFile): void {
  if (bytes.length >= PIECE_BYTES) {
    throw new MayflyError(
      'file_conflict',
      'The file does not say how long it is, and is too long for one piece; read a part of it with the command `head`.',
    );
  }
  response.writeHead(200, { ...headersOf(about), 'Content-Length': bytes.length });
  response.end(bytes);
}

function lengthOf({ first = 0, last = 0 }: ByteRange, most: number): number {
  return Math.max(0, Math.min(most, last + 1 - first));
}

function sendListing({ response }: Exchange, { bytes, isCut }: SourceFile): void {
  if (isCut) {
    throw new MayflyError(
      'file_conflict',
      'The directory has more entries than one listing holds; list a part of it with the command `find`.',
    );
  }
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Content-Length': bytes.length });
  response.end(bytes);
}

function headersOf(about: SourceFileAbout): Record<string, string> {
  return {
    'Content-Type': 'application/octet-stream',
    'Accept-Ranges': 'bytes',
    ETag: etagOf(about),
    'Last-Modified': new Date(about.mtimeMs).toUTCString(),
    'X-Mayfly-Mode': about.mode,
    'X-Mayfly-Uid': String(about.uid),
    'X-Mayfly-Gid': String(about.gid),
    ...(about.user !== null && { 'X-Mayfly-User': encodeURIComponent(about.user) }),
    ...(about.group !== null && { 'X-Mayfly-Group': encodeURIComponent(about.group) }),
  };
}

function etagOf({ size, mtimeMs }: SourceFileAbout): string {
  return `"${size.toString(16)}-${mtimeMs.toString(16).replace('-', 'f')}"`;
}

function unsatisfiable({ response }: Exchange, { size }: SourceFileAbout): MayflyError {
  response.setHeader('Content-Range', `bytes */${size}`);
  return new MayflyError('range_not_satisfiable', `The file has ${size} bytes.`);
}
