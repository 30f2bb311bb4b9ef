/** Reader of exact lengths from chunks. Holds at most one chunk and the requested bytes. */
export class ByteReader {
  #left: Uint8Array = new Uint8Array();

  constructor(private readonly chunks: AsyncIterator<Uint8Array>) {}

  /** @throws ProtocolError at an early end; errors of the source */
  async bytes(length: number): Promise<Buffer> {
    const all = Buffer.allocUnsafe(length);
    await this.into(all);
    return all;
  }

  /** Fills the target without an intermediate copy. */
  async into(target: Uint8Array): Promise<void> {
    for (let at = 0; at < target.length; ) {
      const part = await this.#part(target.length - at);
      target.set(part, at);
      at += part.length;
    }
  }

  /** Discards bytes. */
  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) left -= (await this.#part(left)).length;
  }

  /** Reads UTF-8 up to the end. @throws ProtocolError when it is longer than `most` bytes */
  async rest(most: number): Promise<string> {
    const parts = [this.#left];
    for (let length = this.#left.length; ; ) {
      const { value, done } = await this.chunks.next();
      if (done) return Buffer.concat(parts).toString('utf8');
      parts.push(value);
      length += value.length;
      if (length > most) throw new ProtocolError(`it says more than ${most} bytes`);
    }
  }

  async u8(): Promise<number> {
    return (await this.bytes(1)).readUInt8();
  }

  async u32(): Promise<number> {
    return (await this.bytes(4)).readUInt32BE();
  }

  async #part(most: number): Promise<Uint8Array> {
    while (this.#left.length === 0) {
      const { value, done } = await this.chunks.next();
      if (done) throw new ProtocolError('the connection ended in the middle');
      this.#left = value;
    }
    const part = this.#left.subarray(0, most);
    this.#left = this.#left.subarray(part.length);
    return part;
  }
}

/** The server breaks the protocol, or exceeds a limit. */
export class ProtocolError extends Error {}
