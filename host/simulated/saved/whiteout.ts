const BLOCK = 512;
const PREFIX = '.wh.';

/** True for a name reserved in an archive, where it marks a removed file (OCI image spec, layer.md). */
export function isWhiteout(path: string): boolean {
  return path.slice(path.lastIndexOf('/') + 1).startsWith(PREFIX);
}

/** Returns a PAX archive's entry for a removed path. @param path bytes as Latin-1, with a leading slash */
export function whiteout(path: string): Buffer {
  const slash = path.lastIndexOf('/');
  const record = recordOf(`path=.${path.slice(0, slash)}/${PREFIX}${path.slice(slash + 1)}`);
  const padding = Buffer.alloc((BLOCK - (record.length % BLOCK)) % BLOCK);
  return Buffer.concat([header('x', record.length), record, padding, header('0', 0)]);
}

/** End of an archive. */
export const END_OF_ARCHIVE = Buffer.alloc(2 * BLOCK);

/** Encodes `<length> <text>\n`, where the length includes itself. */
function recordOf(text: string): Buffer {
  const rest = text.length + 2;
  const digits = String(rest + String(rest).length).length;
  return Buffer.from(`${rest + digits} ${text}\n`, 'latin1');
}

/** Encodes a ustar header (POSIX.1-2008, pax): numbers are octal; the checksum is computed with its own field blank. */
function header(flag: '0' | 'x', size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const fields: [number, string][] = [
    [0, 'whiteout'],
    [100, '0000600\0'],
    [108, '0000000\0'],
    [116, '0000000\0'],
    [124, `${size.toString(8).padStart(11, '0')}\0`],
    [136, '00000000000\0'],
    [148, '        '],
    [156, flag],
    [257, 'ustar\u000000'],
  ];
  for (const [at, text] of fields) block.write(text, at, 'latin1');
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}
