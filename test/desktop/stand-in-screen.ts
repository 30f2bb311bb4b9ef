import { ERRORS } from '../../model/errors.ts';
import { END_FRAME, encodeFrame, FrameReader } from '../../model/ports/pieces.ts';
import { ByteReader } from '../../services/desktop/rfb/byte-reader.ts';
import { passwordFile } from '../../services/desktop/rfb/password.ts';
import type { Guests } from '../../services/guests.ts';

export const SIZE = { width: 40, height: 30 };

/** Fake guest with a screen of one colour, that records its input. */
export class StandInScreen implements Guests {
  /** Input, for instance `key 41 down`, `point 1,2 0`, `copied ř`. */
  told: string[] = [];
  /** Password file; null: no desktop. */
  file: Buffer | null = passwordFile({ control: 'secret12', view: 'lookonly' });
  /** Output of the window listing port. */
  state = '';
  /** Number of connections refused while the desktop starts. */
  closed = 0;
  /** Answer to a text to paste. */
  taken = 'taken\nfetched\n';
  /** Delays each connection until it resolves. */
  held: Promise<void> = Promise.resolve();
  connections = 0;
  readonly #ends: AbortSignal[] = [];

  /** True when the API has ended every connection. */
  get areEnded(): boolean {
    return this.#ends.every(({ aborted }) => aborted);
  }

  async request(_hostId: string, path: string, init: Parameters<Guests['request']>[2] = {}): Promise<Response> {
    if (path.includes('/agent/v1/files')) return this.#file(init);
    if (this.closed-- > 0 || (this.file === null && path.startsWith('/ports/'))) return refusal('port_closed');
    const { body, signal } = init;
    if (!(body instanceof ReadableStream)) throw new Error('a connection has a body');
    if (signal) this.#ends.push(signal);
    this.connections++;
    const incoming = contentOf(body);
    if (path.endsWith('/5902')) return answered(saying(this.state));
    return answered(path.endsWith('/5903') ? this.#paste(incoming) : this.#screen(incoming));
  }

  async #file({ method = 'GET', body }: NonNullable<Parameters<Guests['request']>[2]>): Promise<Response> {
    if (this.file === null) return refusal('file_not_found');
    if (method === 'PUT') this.file = Buffer.from(body as Uint8Array);
    return new Response(method === 'GET' ? new Uint8Array(this.file) : null);
  }

  async *#paste(incoming: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.told.push(`copied ${await new ByteReader(incoming).rest(1_000)}`);
    yield* saying(this.taken);
  }

  async *#screen(incoming: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = new ByteReader(incoming);
    yield encodeFrame(Buffer.from('RFB 003.008\n'));
    await reader.skip(12);
    yield encodeFrame(Buffer.of(1, 1));
    await reader.skip(1);
    yield encodeFrame(Buffer.alloc(4));
    await reader.skip(1);
    const head = Buffer.alloc(24);
    head.writeUInt16BE(SIZE.width, 0);
    head.writeUInt16BE(SIZE.height, 2);
    yield encodeFrame(head);
    await this.held;
    for (;;) {
      const type = await reader.u8();
      if (type === 0) await reader.skip(19);
      if (type === 2) await reader.skip((await reader.bytes(3)).readUInt16BE(1) * 4);
      if (type === 3) yield encodeFrame(update(await reader.bytes(9)));
      if (type === 4) this.#key(await reader.bytes(7));
      if (type === 5) this.#point(await reader.bytes(5));
    }
  }

  #key(message: Buffer): void {
    const [isDown, key] = [message.readUInt8(0) === 1, message.readUInt32BE(3)];
    this.told.push(`key ${key.toString(16)} ${isDown ? 'down' : 'up'}`);
  }

  #point(message: Buffer): void {
    this.told.push(`point ${message.readUInt16BE(1)},${message.readUInt16BE(3)} ${message.readUInt8(0)}`);
  }
}

function update(asked: Buffer): Buffer {
  const [width, height] = [asked.readUInt16BE(5), asked.readUInt16BE(7)];
  const head = Buffer.from('00000001000000000000000000000000', 'hex');
  head.writeUInt16BE(width, 8);
  head.writeUInt16BE(height, 10);
  return Buffer.concat([head, Buffer.alloc(width * height * 4, 0x7f)]);
}

async function* saying(text: string): AsyncGenerator<Uint8Array> {
  yield encodeFrame(Buffer.from(text));
  yield END_FRAME;
}

async function* contentOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = new FrameReader();
  for await (const chunk of body) {
    yield* pieces.read(chunk);
    if (pieces.isEnded) return;
  }
}

function answered(bytes: AsyncIterable<Uint8Array>): Response {
  return new Response(ReadableStream.from(bytes));
}

function refusal(code: 'port_closed' | 'file_not_found'): Response {
  return Response.json({ code, message: code }, { status: ERRORS[code].status });
}
