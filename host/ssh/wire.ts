/** Reads the fields of an SSH blob (RFC 4251 §5). @throws RangeError when the blob is cut short */
export class WireReader {
  #at = 0;

  constructor(private readonly blob: Buffer) {}

  get isAtEnd(): boolean {
    return this.#at === this.blob.length;
  }

  /** Reads a string: its length in four bytes, then its bytes. */
  string(): Buffer {
    return this.take(this.take(4).readUInt32BE());
  }

  take(bytes: number): Buffer {
    const end = this.#at + bytes;
    if (end > this.blob.length) throw new RangeError('an SSH blob is cut short');
    const taken = this.blob.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

/** Encodes a string for {@link WireReader.string}. */
export function sshString(bytes: Buffer | string): Buffer {
  const content = Buffer.from(bytes);
  return Buffer.concat([uint32(content.length), content]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
