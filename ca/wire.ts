/**
 * The strings of an SSH blob: each is its length in four bytes, then its bytes (RFC 4251 §5).
 * @throws RangeError when the blob is cut short
 */
export class WireReader {
  #at = 0;

  constructor(private readonly blob: Buffer) {}

  get isAtEnd(): boolean {
    return this.#at === this.blob.length;
  }

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
