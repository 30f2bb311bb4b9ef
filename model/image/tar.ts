/** Entry of an archive. */
export interface TarEntry {
  path: string;
  type: 'file' | 'directory' | 'symlink';
  mode: number;
  bytes: Uint8Array;
  link: string | null;
}

/** Block size of the format, bytes. */
export const BLOCK = 512;
const LETTER = { file: '0', directory: '5', symlink: '2' } as const;

/** Builds a ustar archive; each path and link target is in a PAX record. */
export function buildTar(entries: readonly TarEntry[]): Uint8Array {
  const blocks = entries.flatMap((entry) => {
    const content = entry.type === 'file' ? entry.bytes : new Uint8Array();
    return [tarHeader({ ...entry, size: content.length }), content, tarPadding(content.length)];
  });
  return concatBytes([...blocks, END]);
}

/** End marker of an archive. */
export const END = new Uint8Array(2 * BLOCK);

/** Returns the header blocks of an entry. */
export function tarHeader({ path, type, mode, size, link }: Omit<TarEntry, 'bytes'> & { size: number }): Uint8Array {
  const records = [record('path', path), ...(link === null ? [] : [record('linkpath', link)])].join('');
  const pax = new TextEncoder().encode(records);
  const plain = headerOf('entry', LETTER[type], mode, type === 'file' ? size : 0);
  return concatBytes([headerOf('pax', 'x', 0o644, pax.length), pax, tarPadding(pax.length), plain]);
}

/** Returns the padding after content of that length. */
export function tarPadding(size: number): Uint8Array {
  return new Uint8Array(Math.ceil(size / BLOCK) * BLOCK - size);
}

export function concatBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** Formats a PAX record, which starts with its own length. */
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
