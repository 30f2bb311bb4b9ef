import { createHash } from 'node:crypto';
import type { FileType } from '../../model/files/file-change.ts';

/** File of an archive. Names and targets are bytes, as Latin-1. */
export interface TarEntry {
  /** Path from the root, with a leading slash; the root itself is ''. */
  path: string;
  type: FileType;
  size: number;
  mode: number;
  uid: number;
  gid: number;
  /** Nanoseconds since 1970. */
  mtime: bigint;
  target: string | null;
  device: [number, number] | null;
  xattrs: Map<string, string>;
  /** SHA-256 of a regular file, hex. */
  digest: string | null;
  /** Path of the hard link's first name, earlier in the archive. */
  sameAs: string | null;
  /** Damage of the content, in words; it comes behind the entry. */
  note: string | null;
}

const BLOCK = 512;
/** Limit of one file's PAX records: 64 KiB for each of some attributes, and a path. Bytes. */
const MAX_RECORDS = 16 * 1024 * 1024;
/** Type flags of ustar (POSIX.1-2008, pax): `1` is a hard link to an earlier entry. */
const TYPES: Record<string, FileType> = {
  0: 'file',
  1: 'file',
  2: 'symlink',
  3: 'char-device',
  4: 'block-device',
  5: 'directory',
  6: 'fifo',
};
const XATTR = 'SCHILY.xattr.';
const NOTE = 'mayfly: ';

/** Consumer of a file's content, piece by piece; the next piece waits for its promise. */
export type Sink = (piece: Buffer) => void | Promise<void>;

/**
 * Parses PAX format, as GNU tar and mayfly-diff write it. @param sinkOf consumes a file's content, which then gets no
 * digest. `@default` none @throws Error on any other format
 */
export async function* tarEntries(
  archive: AsyncIterable<Uint8Array>,
  sinkOf?: (entry: TarEntry) => Sink | null,
): AsyncGenerator<TarEntry> {
  const reader = new Reader(archive);
  let records = new Map<string, string>();
  let last: TarEntry | null = null;
  for (;;) {
    const header = await reader.take(BLOCK);
    if (header.every((byte) => byte === 0)) return;
    if (header.toString('latin1', 257, 262) !== 'ustar') throw new Error('tar wrote a header that makes no sense');
    const flag = header.toString('latin1', 156, 157);
    if (flag === 'x' || flag === 'g') {
      const size = octal(header, 124, 12);
      if (size > MAX_RECORDS) throw new Error('a file has more extended attributes than are read');
      const found = recordsOf(await reader.take(size));
      await reader.pad(size);
      if (flag === 'x') records = found;
      else if (last) last.note = noteOf(found) ?? last.note;
      continue;
    }
    const entry = entryOf(header, flag, records);
    records = new Map();
    const hash = sinkOf ? null : createHash('sha256');
    const sink = sinkOf?.(entry);
    for await (const piece of reader.pieces(entry.size)) {
      await sink?.(piece);
      hash?.update(piece);
    }
    await reader.pad(entry.size);
    if (hash && entry.type === 'file' && entry.sameAs === null) entry.digest = hash.digest('hex');
    yield entry;
    last = entry;
  }
}

/** Returns the agent's note on a file that it could not read to its end: a global PAX comment. */
function noteOf(records: Map<string, string>): string | null {
  const comment = records.get('comment') ?? '';
  return comment.startsWith(NOTE) ? comment.slice(NOTE.length) : null;
}

function entryOf(header: Buffer, flag: string, records: Map<string, string>): TarEntry {
  const type = TYPES[flag];
  if (!type) throw new Error(`tar wrote an entry of the type ${JSON.stringify(flag)}`);
  const [prefix, short] = [text(header, 345, 155), text(header, 0, 100)];
  const named = records.get('path') ?? (prefix === '' ? short : `${prefix}/${short}`);
  const linked = records.get('linkpath') ?? text(header, 157, 100);
  const number = (name: string, at: number, length: number) => Number(records.get(name) ?? octal(header, at, length));
  return {
    path: toAbsolutePath(named),
    type,
    size: flag === '0' ? number('size', 124, 12) : 0,
    mode: octal(header, 100, 8) & 0o7777,
    uid: number('uid', 108, 8),
    gid: number('gid', 116, 8),
    mtime: nanoseconds(records.get('mtime') ?? String(octal(header, 136, 12))),
    target: type === 'symlink' ? linked : null,
    device: type.endsWith('-device') ? [octal(header, 329, 8), octal(header, 337, 8)] : null,
    xattrs: xattrsOf(records),
    digest: null,
    sameAs: flag === '1' ? toAbsolutePath(linked) : null,
    note: null,
  };
}

/** Parses extended attributes. GNU tar writes `=` and `%` in a name as `%3D` and `%25`. */
function xattrsOf(records: Map<string, string>): Map<string, string> {
  const found = [...records].filter(([key]) => key.startsWith(XATTR));
  return new Map(
    found.map(([key, value]) => [key.slice(XATTR.length).replaceAll('%3D', '=').replaceAll('%25', '%'), value]),
  );
}

/** Maps an archive name to an absolute path: `./a/` is `/a`. */
function toAbsolutePath(name: string): string {
  return name.replace(/^\./, '').replace(/\/$/, '');
}

/** Parses `<length> <key>=<value>\n`, where the length includes itself. */
function recordsOf(bytes: Buffer): Map<string, string> {
  const all = bytes.toString('latin1');
  const records = new Map<string, string>();
  for (let at = 0; at < all.length; ) {
    const length = Number.parseInt(all.slice(at, at + 12), 10);
    const [begin, end] = [all.indexOf(' ', at) + 1, at + length - 1];
    const equals = all.indexOf('=', begin);
    if (!(length > 0) || all[end] !== '\n' || equals < begin || equals > end) throw new Error('a pax record is broken');
    records.set(all.slice(begin, equals), all.slice(equals + 1, end));
    at = end + 1;
  }
  return records;
}

function nanoseconds(seconds: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(seconds) ?? [];
  if (whole === undefined) throw new Error('tar wrote a time that makes no sense');
  const size = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9));
  return sign === '-' ? -size : size;
}

function text(header: Buffer, at: number, length: number): string {
  const field = header.toString('latin1', at, at + length);
  const end = field.indexOf('\0');
  return end < 0 ? field : field.slice(0, end);
}

function octal(header: Buffer, at: number, length: number): number {
  const digits = text(header, at, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new Error('tar wrote a number that makes no sense');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

/** Reader of a stream by byte counts. */
class Reader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  async *pieces(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0) {
        const { done, value } = await this.#chunks.next();
        if (done) throw new Error('tar ended within an archive');
        this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async take(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(count)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** Skips to the next block. */
  async pad(size: number): Promise<void> {
    await this.take((BLOCK - (size % BLOCK)) % BLOCK);
  }
}
