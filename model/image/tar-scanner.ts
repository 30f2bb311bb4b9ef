import { MayflyError } from '../errors.ts';
import { utf8Length } from '../utf8.ts';
import { BLOCK, concatBytes, type TarEntry } from './tar.ts';

/** Entry of an archive without its content. */
export interface TarHeader extends Omit<TarEntry, 'bytes'> {
  /** Length of its content, bytes. */
  size: number;
  /** Offset of its content in the archive. */
  at: number;
}

/** Called for each entry, then for each chunk of its content; folders and links have none. */
interface TarListener {
  entry(head: TarHeader): void;
  content(piece: Uint8Array): void;
}

interface LongNames {
  path?: string;
  link?: string;
}

const TYPES: Record<string, TarEntry['type']> = { '0': 'file', '\0': 'file', '2': 'symlink', '5': 'directory' };
const OTHERS: Record<string, string> = { '1': 'a hard link', '3': 'a device', '4': 'a device', '6': 'a pipe' };
/** Header types for long names: PAX records, and GNU's for paths and links. */
const NAMES = ['x', 'L', 'K'];
/** Bytes of a PAX header including other attributes. */
const MOST_OF_A_NAME = 65_536;
/** Bytes; Linux has no longer path. */
const MOST_OF_A_PATH = 4_095;

/** Parses a ustar archive with PAX records or GNU long names as a stream; buffers at most a header and a name. */
export class TarScanner {
  readonly #listener: TarListener;
  readonly #header = new Uint8Array(BLOCK);
  #filled = 0;
  /** Bytes read so far. */
  #at = 0;
  /** Remaining bytes of the content, and of the padding after it. */
  #left = 0;
  #padding = 0;
  /** Type of the current entry. */
  #letter = '';
  #name: Uint8Array[] = [];
  #long: LongNames = {};
  #isOver = false;

  constructor(listener: TarListener) {
    this.#listener = listener;
  }

  /** @throws MayflyError invalid_request for anything but files, folders and symbolic links */
  push(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length && !this.#isOver; ) {
      const wanted = this.#left || this.#padding || BLOCK - this.#filled;
      const piece = chunk.subarray(from, from + wanted);
      from += piece.length;
      this.#at += piece.length;
      if (this.#left > 0) this.#consumeContent(piece);
      else if (this.#padding > 0) this.#padding -= piece.length;
      else this.#fill(piece);
    }
  }

  /** @throws MayflyError invalid_request for a truncated archive */
  end(): void {
    if (!this.#isOver) throw invalidArchive('it is cut off, or no tar archive');
  }

  #fill(piece: Uint8Array): void {
    this.#header.set(piece, this.#filled);
    this.#filled += piece.length;
    if (this.#filled < BLOCK) return;
    this.#filled = 0;
    if (this.#header.every((byte) => byte === 0)) this.#isOver = true;
    else this.#begin();
  }

  #begin(): void {
    const size = octal(this.#header, 124, 12);
    this.#letter = latin(this.#header, 156, 1) || '\0';
    this.#left = size;
    this.#padding = Math.ceil(size / BLOCK) * BLOCK - size;
    if (this.#letter === 'g') return;
    if (NAMES.includes(this.#letter)) {
      if (size > MOST_OF_A_NAME) throw invalidArchive('a name in it is too long');
      this.#name = [];
      if (size === 0) this.#finishName();
      return;
    }
    this.#listener.entry(headOf(this.#header, this.#letter, size, this.#at, this.#long));
    this.#long = {};
  }

  #consumeContent(piece: Uint8Array): void {
    this.#left -= piece.length;
    if (NAMES.includes(this.#letter)) {
      this.#name.push(piece.slice());
      if (this.#left === 0) this.#finishName();
    } else if (TYPES[this.#letter] === 'file') this.#listener.content(piece);
  }

  #finishName(): void {
    const bytes = concatBytes(this.#name);
    if (this.#letter === 'x') this.#long = { ...this.#long, ...paxOf(bytes) };
    else if (this.#letter === 'L') this.#long = { ...this.#long, path: untilNul(bytes) };
    else this.#long = { ...this.#long, link: untilNul(bytes) };
  }
}

/**
 * Parses a whole archive.
 * @throws MayflyError invalid_request for anything but files, folders and symbolic links, or a truncated archive
 */
export function tarEntries(archive: Uint8Array): TarEntry[] {
  const entries: TarEntry[] = [];
  const scanner = new TarScanner({
    entry: ({ path, type, mode, size, at, link }) => {
      entries.push({ path, type, mode, bytes: archive.subarray(at, at + size), link });
    },
    content: () => undefined,
  });
  scanner.push(archive);
  scanner.end();
  return entries;
}

function headOf(header: Uint8Array, letter: string, size: number, at: number, long: LongNames): TarHeader {
  const prefix = latin(header, 257, 5) === 'ustar' ? text(header, 345, 155) : '';
  const short = text(header, 0, 100);
  const path = long.path ?? (prefix === '' ? short : `${prefix}/${short}`);
  if (Math.max(utf8Length(path), utf8Length(long.link ?? '')) > MOST_OF_A_PATH)
    throw invalidArchive('a path in it is too long');
  const type = TYPES[letter];
  if (!type) throw invalidArchive(`${JSON.stringify(path)} is ${OTHERS[letter] ?? 'of an unknown kind'}`);
  const link = type === 'symlink' ? (long.link ?? text(header, 157, 100)) : null;
  return { path, type, mode: octal(header, 100, 8) & 0o7777, size: type === 'file' ? size : 0, at, link };
}

function paxOf(bytes: Uint8Array): LongNames {
  const found: LongNames = {};
  for (let at = 0; at < bytes.length; ) {
    const digits = /^\d{1,7} /.exec(latin(bytes, at, 8))?.[0];
    const length = Number.parseInt(digits ?? '', 10);
    if (digits === undefined || length <= digits.length || at + length > bytes.length)
      throw invalidArchive('a PAX record is broken');
    const [, key, value = ''] =
      /^([^=]*)=([\s\S]*)\n$/.exec(utf8(bytes.subarray(at + digits.length, at + length))) ?? [];
    if (key === 'path') found.path = value;
    if (key === 'linkpath') found.link = value;
    if (key === 'size' || key?.startsWith('GNU.sparse')) throw invalidArchive(`PAX records of ${key} are not read`);
    at += length;
  }
  return found;
}

function octal(header: Uint8Array, at: number, length: number): number {
  const digits = latin(header, at, length).replace(/\0.*$/s, '').trim();
  if (!/^[0-7]*$/.test(digits)) throw invalidArchive('a number in it makes no sense');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

function text(header: Uint8Array, at: number, length: number): string {
  return untilNul(header.subarray(at, at + length));
}

function untilNul(field: Uint8Array): string {
  const end = field.indexOf(0);
  return utf8(end < 0 ? field : field.subarray(0, end));
}

function latin(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalidArchive('a name in it is not UTF-8');
  }
}

function invalidArchive(problem: string): MayflyError {
  const why = `The context is not taken: ${problem}.`;
  return new MayflyError('invalid_request', why, { fields: [{ field: 'context', problem }] });
}
