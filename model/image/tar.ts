import { MayflyError } from '../errors.ts';

/** One entry of an archive. */
export interface TarEntry {
  path: string;
  type: 'file' | 'directory' | 'symlink';
  mode: number;
  bytes: Uint8Array;
  link: string | null;
}

const BLOCK = 512;
const TYPES: Record<string, TarEntry['type']> = { '0': 'file', '\0': 'file', '2': 'symlink', '5': 'directory' };
const OTHERS: Record<string, string> = { '1': 'a hard link', '3': 'a device', '4': 'a device', '6': 'a pipe' };
const LETTER = { file: '0', directory: '5', symlink: '2' } as const;

/**
 * The entries of an archive of ustar, with PAX records or GNU's long names.
 * @throws MayflyError invalid_request for what is none of a file, a folder and a link, or is cut off
 */
export function tarEntries(archive: Uint8Array): TarEntry[] {
  const entries: TarEntry[] = [];
  let long: { path?: string; link?: string } = {};
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return entries;
    const size = octal(header, 124, 12);
    const bytes = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (bytes.length < size) break;
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const letter = latin(header, 156, 1) || '\0';
    if (letter === 'g') continue;
    if (letter === 'x') long = { ...long, ...paxOf(bytes) };
    else if (letter === 'L') long = { ...long, path: utf8(bytes).replace(/\0+$/, '') };
    else if (letter === 'K') long = { ...long, link: utf8(bytes).replace(/\0+$/, '') };
    else {
      entries.push(entryOf(header, letter, bytes, long));
      long = {};
    }
  }
  throw refused('it is cut off, or no tar archive');
}

/** An archive of these, as ustar with PAX records where a name is long. */
export function tarOf(entries: readonly TarEntry[]): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (const { path, type, mode, bytes, link } of entries) {
    const records = [record('path', path), ...(link === null ? [] : [record('linkpath', link)])].join('');
    const pax = new TextEncoder().encode(records);
    blocks.push(headerOf('pax', 'x', 0o644, pax.length), padded(pax));
    const content = type === 'file' ? bytes : new Uint8Array();
    blocks.push(headerOf('entry', LETTER[type], mode, content.length), padded(content));
  }
  blocks.push(new Uint8Array(2 * BLOCK));
  return joined(blocks);
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function entryOf(
  header: Uint8Array,
  letter: string,
  bytes: Uint8Array,
  long: { path?: string; link?: string },
): TarEntry {
  const prefix = latin(header, 257, 5) === 'ustar' ? text(header, 345, 155) : '';
  const short = text(header, 0, 100);
  const path = long.path ?? (prefix === '' ? short : `${prefix}/${short}`);
  const type = TYPES[letter];
  if (!type) throw refused(`${JSON.stringify(path)} is ${OTHERS[letter] ?? 'of an unknown kind'}`);
  const link = type === 'symlink' ? (long.link ?? text(header, 157, 100)) : null;
  return { path, type, mode: octal(header, 100, 8) & 0o7777, bytes: type === 'file' ? bytes : new Uint8Array(), link };
}

function paxOf(bytes: Uint8Array): { path?: string; link?: string } {
  const found: { path?: string; link?: string } = {};
  for (let at = 0; at < bytes.length; ) {
    const digits = /^\d{1,7} /.exec(latin(bytes, at, 8))?.[0];
    const length = Number.parseInt(digits ?? '', 10);
    if (digits === undefined || length <= digits.length || at + length > bytes.length)
      throw refused('a PAX record is broken');
    const [, key, value = ''] =
      /^([^=]*)=([\s\S]*)\n$/.exec(utf8(bytes.subarray(at + digits.length, at + length))) ?? [];
    if (key === 'path') found.path = value;
    if (key === 'linkpath') found.link = value;
    if (key === 'size' || key?.startsWith('GNU.sparse')) throw refused(`PAX records of ${key} are not read`);
    at += length;
  }
  return found;
}

/** Its length is part of what it says. */
function record(key: string, value: string): string {
  const rest = new TextEncoder().encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function headerOf(name: string, letter: string, mode: number, size: number): Uint8Array {
  const header = new Uint8Array(BLOCK);
  const put = (at: number, value: string) => header.set(new TextEncoder().encode(value), at);
  put(0, name);
  put(100, `${mode.toString(8).padStart(7, '0')}\0`);
  put(108, '0000000\0');
  put(116, '0000000\0');
  put(124, `${size.toString(8).padStart(11, '0')}\0`);
  put(136, '00000000000\0');
  put(148, '        ');
  put(156, letter);
  put(257, 'ustar\x0000');
  const sum = header.reduce((all, byte) => all + byte, 0);
  put(148, `${sum.toString(8).padStart(6, '0')}\0 `);
  return header;
}

function padded(bytes: Uint8Array): Uint8Array {
  const all = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
  all.set(bytes);
  return all;
}

function octal(header: Uint8Array, at: number, length: number): number {
  const digits = latin(header, at, length).replace(/\0.*$/s, '').trim();
  if (!/^[0-7]*$/.test(digits)) throw refused('a number in it makes no sense');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

function text(header: Uint8Array, at: number, length: number): string {
  const field = header.subarray(at, at + length);
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
    throw refused('a name in it is not UTF-8');
  }
}

function refused(problem: string): MayflyError {
  const why = `The context is not taken: ${problem}.`;
  return new MayflyError('invalid_request', why, { fields: [{ field: 'context', problem }] });
}
