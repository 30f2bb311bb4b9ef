/**
 * Start of a run of bytes: from its offset up to the next mark's, the bytes of its stream were read from the command at
 * one moment.
 */
export interface Mark {
  /**
   * Bytes of both streams that came before. It orders both streams, and is the same however often and from wherever the
   * guest is read.
   */
  position: number;
  /** Guest clock, milliseconds since 1970. */
  atMs: number;
  /** Offset in its own stream. */
  offset: number;
}

/**
 * Packs marks as differences in LEB128 (the time's zigzag-coded: a guest's clock may go back), about 4 bytes a mark.
 */
export function packMarks(marks: readonly Mark[]): Buffer {
  const bytes: number[] = [];
  let last: Mark = { position: 0, atMs: 0, offset: 0 };
  for (const mark of marks) {
    const later = mark.atMs - last.atMs;
    push(bytes, mark.position - last.position);
    push(bytes, later >= 0 ? later * 2 : -later * 2 - 1);
    push(bytes, mark.offset - last.offset);
    last = mark;
  }
  return Buffer.from(bytes);
}

export function unpackMarks(bytes: Uint8Array): Mark[] {
  const marks: Mark[] = [];
  let last: Mark = { position: 0, atMs: 0, offset: 0 };
  const reader = { bytes, at: 0 };
  while (reader.at < bytes.length) {
    const position = last.position + pull(reader);
    const later = pull(reader);
    const atMs = last.atMs + (later % 2 === 0 ? later / 2 : -(later + 1) / 2);
    last = { position, atMs, offset: last.offset + pull(reader) };
    marks.push(last);
  }
  return marks;
}

/** Uses arithmetic, since numbers exceed the 32 bits of JavaScript's bit operators. */
function push(bytes: number[], value: number): void {
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
}

function pull(reader: { bytes: Uint8Array; at: number }): number {
  let value = 0;
  for (let unit = 1; ; unit *= 128) {
    const byte = reader.bytes[reader.at++] ?? 0;
    value += (byte % 128) * unit;
    if (byte < 128) return value;
  }
}
