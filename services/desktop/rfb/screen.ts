import { ByteReader, ProtocolError } from './byte-reader.ts';
import { drawHextile } from './hextile.ts';
import { challengeAnswer } from './password.ts';
import { BYTES_PER_PIXEL, drawRaw, type Picture, type PictureWithPixels } from './picture.ts';

/** Connection to a VNC server, until one side ends. */
export interface Wire {
  write: (bytes: Uint8Array) => void;
  /** Ends the sending direction. */
  end: () => void;
  incoming: AsyncIterator<Uint8Array>;
}

/** 4096 × 2160, the largest cinema screen: 34 MiB of pixels. */
const MAX_PIXELS = 4_096 * 2_160;
const MAX_TEXT_BYTES = 4_096;
const MAX_CLIPBOARD_BYTES = 1_048_576;
/** Limit of messages per connection, with those that Mayfly ignores. */
const MAX_MESSAGES = 10_000;

const VERSION = 'RFB 003.008\n';
const SECURITY = { none: 1, password: 2 };
const ENCODING = { raw: 0, hextile: 5 };
const CLIENT = { pixelFormat: 0, encodings: 2, update: 3, key: 4, pointer: 5 };
const SERVER = { update: 0, colours: 1, bell: 2, clipboard: 3 };
/** 32 bits, depth 24, little-endian, true colour, maximum 255 each, shifts 0, 8 and 16: red first in memory. */
const PIXEL_FORMAT = Buffer.from('000000002018000100ff00ff00ff000810000000', 'hex');

/** Client of a VNC server, RFC 6143. The server is untrusted: lengths are checked before use. */
export class VncClient {
  #messages = 0;

  private constructor(
    private readonly wire: Wire,
    private readonly reader: ByteReader,
    readonly width: number,
    readonly height: number,
  ) {}

  /** @throws ProtocolError */
  static async open(wire: Wire, password: () => Promise<string>): Promise<VncClient> {
    const reader = new ByteReader(wire.incoming);
    const version = (await reader.bytes(VERSION.length)).toString('latin1');
    if (version !== VERSION) throw new ProtocolError(`it is no VNC server of RFB 3.8: ${JSON.stringify(version)}`);
    wire.write(Buffer.from(VERSION));
    await authenticate(wire, reader, password);
    wire.write(Buffer.of(1)); // shared: other clients stay connected
    const head = await reader.bytes(24);
    const [width, height] = [head.readUInt16BE(0), head.readUInt16BE(2)];
    if (width * height === 0 || width * height > MAX_PIXELS) {
      throw new ProtocolError(`a screen of ${width} × ${height} is none that is taken`);
    }
    await reader.skip(assertLength(head.readUInt32BE(20), MAX_TEXT_BYTES, 'name'));
    wire.write(PIXEL_FORMAT);
    wire.write(encodings([ENCODING.hextile, ENCODING.raw]));
    return new VncClient(wire, reader, width, height);
  }

  /** Returns the current screen, with its pointer. */
  async picture(): Promise<PictureWithPixels> {
    const { width, height } = this;
    this.#requestUpdate(width, height);
    const picture = { width, height, pixels: Buffer.alloc(width * height * BYTES_PER_PIXEL) };
    for (let drawn = 0; drawn < width * height; ) drawn += await this.#nextUpdate(picture);
    return picture;
  }

  /** Resolves when the server has processed all earlier input. */
  async settled(): Promise<void> {
    this.#requestUpdate(1, 1);
    await this.#nextUpdate(this.#discardedPicture);
  }

  /** @param buttons bit 0: left, 1: middle, 2: right, 3 to 6: one step of the wheel up, down, left, right */
  point(x: number, y: number, buttons: number): void {
    const message = Buffer.alloc(6);
    message.writeUInt8(CLIENT.pointer, 0);
    message.writeUInt8(buttons, 1);
    message.writeUInt16BE(Math.min(x, this.width - 1), 2);
    message.writeUInt16BE(Math.min(y, this.height - 1), 4);
    this.wire.write(message);
  }

  /** @param keysym of X11 */
  key(keysym: number, isDown: boolean): void {
    const message = Buffer.alloc(8);
    message.writeUInt8(CLIENT.key, 0);
    message.writeUInt8(isDown ? 1 : 0, 1);
    message.writeUInt32BE(keysym, 4);
    this.wire.write(message);
  }

  get #discardedPicture(): Picture {
    return { width: this.width, height: this.height, pixels: null };
  }

  #requestUpdate(width: number, height: number): void {
    const message = Buffer.alloc(10);
    message.writeUInt8(CLIENT.update, 0);
    message.writeUInt16BE(width, 6);
    message.writeUInt16BE(height, 8);
    this.wire.write(message);
  }

  async #nextUpdate(picture: Picture): Promise<number> {
    for (;;) {
      const drawn = await this.#next(picture);
      if (drawn !== null) return drawn;
    }
  }

  /** Reads one message. @returns the number of pixels of an update; null for other messages, which are ignored */
  async #next(picture: Picture): Promise<number | null> {
    if (++this.#messages > MAX_MESSAGES) throw new ProtocolError('it says too much that nobody asked for');
    const type = await this.reader.u8();
    if (type === SERVER.update) return this.#update(picture);
    if (type === SERVER.clipboard) {
      await this.reader.skip(assertLength((await this.reader.bytes(7)).readUInt32BE(3), MAX_CLIPBOARD_BYTES, 'text'));
    } else if (type === SERVER.colours) await this.reader.skip((await this.reader.bytes(5)).readUInt16BE(3) * 6);
    else if (type !== SERVER.bell) throw new ProtocolError(`there is no message of type ${type}`);
    return null;
  }

  async #update(picture: Picture): Promise<number> {
    const count = (await this.reader.bytes(3)).readUInt16BE(1);
    let drawn = 0;
    for (let n = 0; n < count; n++) {
      drawn += await this.#rectangle(picture);
      if (drawn > 2 * this.width * this.height) throw new ProtocolError('an update has more pixels than the screen');
    }
    return drawn;
  }

  async #rectangle(picture: Picture): Promise<number> {
    const head = await this.reader.bytes(12);
    const [x, y] = [head.readUInt16BE(0), head.readUInt16BE(2)];
    const [width, height] = [head.readUInt16BE(4), head.readUInt16BE(6)];
    if (x + width > this.width || y + height > this.height) throw new ProtocolError('a rectangle leaves the screen');
    const encoding = head.readInt32BE(8);
    if (encoding === ENCODING.raw) await drawRaw(this.reader, picture, { x, y, width, height });
    else if (encoding === ENCODING.hextile) await drawHextile(this.reader, picture, { x, y, width, height });
    else throw new ProtocolError(`encoding ${encoding} was not asked for`);
    return width * height;
  }
}

async function authenticate(wire: Wire, reader: ByteReader, password: () => Promise<string>): Promise<void> {
  const types = await reader.bytes(await reader.u8());
  if (types.length === 0) throw new ProtocolError(`it refuses: ${await readReason(reader)}`);
  const isOpen = types.includes(SECURITY.none);
  if (!isOpen && !types.includes(SECURITY.password)) {
    throw new ProtocolError(`it wants to know who comes by none of the ways that are known: ${types.join(', ')}`);
  }
  wire.write(Buffer.of(isOpen ? SECURITY.none : SECURITY.password));
  if (!isOpen) wire.write(challengeAnswer(await password(), await reader.bytes(16)));
  if ((await reader.u32()) !== 0) throw new ProtocolError(`it refuses: ${await readReason(reader)}`);
}

async function readReason(reader: ByteReader): Promise<string> {
  const text = await reader.bytes(assertLength(await reader.u32(), MAX_TEXT_BYTES, 'reason'));
  return JSON.stringify(text.toString('latin1'));
}

function assertLength(length: number, most: number, what: string): number {
  if (length > most) throw new ProtocolError(`a ${what} of ${length} bytes is longer than any may be`);
  return length;
}

function encodings(wanted: readonly number[]): Buffer {
  const message = Buffer.alloc(4 + 4 * wanted.length);
  message.writeUInt8(CLIENT.encodings, 0);
  message.writeUInt16BE(wanted.length, 2);
  for (const [n, encoding] of wanted.entries()) message.writeInt32BE(encoding, 4 + 4 * n);
  return message;
}
