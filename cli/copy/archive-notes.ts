const BLOCK = 512;
/** Of a record; a longer one is none of ours. Bytes. */
const MOST = 16_384;
const NOTE = 'mayfly: ';

/**
 * Passes an archive on as it is, and reads from it what the guest says of files that it could not read to their end.
 * @param onNote called with each, which a guest has written
 */
export async function* withNotes(
  archive: AsyncIterable<Uint8Array>,
  onNote: (note: string) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = new NoteReader(onNote);
  for await (const chunk of archive) {
    reader.push(chunk);
    yield chunk;
  }
}

/** Follows the headers of an archive: PAX has notes as comments on all that follows (`g`). */
class NoteReader {
  #header: Buffer = Buffer.alloc(0);
  /** Bytes until the next header. */
  #skip = 0;
  /** Of records that are read, and whose they are. */
  #records: { letter: string; length: number; pieces: Buffer[] } | null = null;
  /** Of the next entry, where its header has no room for it. */
  #size: number | null = null;

  constructor(private readonly onNote: (note: string) => void) {}

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length; ) {
      const wanted = this.#skip > 0 ? this.#skip : BLOCK - this.#header.length;
      const piece = bytes.subarray(at, at + wanted);
      at += piece.length;
      if (this.#skip > 0) this.#content(piece);
      else this.#begin(piece);
    }
  }

  #content(piece: Buffer): void {
    this.#skip -= piece.length;
    this.#records?.pieces.push(Buffer.from(piece));
    if (this.#skip === 0 && this.#records) this.#end(this.#records);
  }

  #begin(piece: Buffer): void {
    this.#header = Buffer.concat([this.#header, piece]);
    if (this.#header.length < BLOCK) return;
    const letter = this.#header.toString('latin1', 156, 157);
    const said = Number.parseInt(this.#header.toString('latin1', 124, 136), 8) || 0;
    this.#header = Buffer.alloc(0);
    const isRecord = letter === 'x' || letter === 'g';
    const length = isRecord ? said : (this.#size ?? said);
    if (!isRecord) this.#size = null;
    this.#skip = Math.ceil(length / BLOCK) * BLOCK;
    this.#records = isRecord && length > 0 && length <= MOST ? { letter, length, pieces: [] } : null;
  }

  #end({ letter, length, pieces }: { letter: string; length: number; pieces: Buffer[] }): void {
    this.#records = null;
    const text = Buffer.concat(pieces).toString('utf8', 0, length);
    const record = (key: string) => new RegExp(`(?:^|\\n)\\d+ ${key}=([^\\n]*)\\n`).exec(text)?.[1];
    if (letter === 'x') this.#size = Number.parseInt(record('size') ?? '', 10) || null;
    const comment = letter === 'g' ? record('comment') : undefined;
    if (comment?.startsWith(NOTE)) this.onNote(comment.slice(NOTE.length));
  }
}
