import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ByteReader } from '../../services/desktop/rfb/byte-reader.ts';

const OPCODE = { binary: 2, close: 8, ping: 9, pong: 10 };
const LAST_FRAME = 0x80;
const MASKED = 0x80;

/** Minimal WebSocket (RFC 6455) client as in a browser: binary, answers pings. */
export class WebSocketClient {
  pings = 0;
  isClosed = false;

  private constructor(
    readonly head: string,
    private readonly socket: Socket,
    private readonly reader: ByteReader,
  ) {}

  static async open(port: number, path: string, headers: Record<string, string>): Promise<WebSocketClient> {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    await once(socket, 'connect');
    const all = {
      ...headers,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Protocol': 'binary',
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const reader = new ByteReader(socket.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>);
    let head = '';
    while (!head.endsWith('\r\n\r\n')) head += String.fromCharCode(await reader.u8());
    return new WebSocketClient(head, socket, reader);
  }

  send(bytes: Uint8Array): void {
    this.#write(OPCODE.binary, bytes);
  }

  /** Yields the contents of binary frames until the end. */
  async *messages(): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const opcode = (await this.reader.u8()) & 0x0f;
      const content = await this.reader.bytes(await this.#length());
      if (opcode === OPCODE.binary) yield content;
      if (opcode === OPCODE.ping) {
        this.pings++;
        this.#write(OPCODE.pong, content);
      }
      if (opcode === OPCODE.close) break;
    }
    this.isClosed = true;
  }

  end(): void {
    this.socket.destroy();
  }

  async #length(): Promise<number> {
    const short = (await this.reader.u8()) & 0x7f;
    if (short === 126) return (await this.reader.bytes(2)).readUInt16BE();
    if (short === 127) return Number((await this.reader.bytes(8)).readBigUInt64BE());
    return short;
  }

  /** @param content fewer than 126 bytes */
  #write(opcode: number, content: Uint8Array): void {
    const mask = randomBytes(4);
    const masked = Buffer.from(content.map((byte, n) => byte ^ (mask[n % 4] ?? 0)));
    this.socket.write(Buffer.concat([Buffer.of(LAST_FRAME | opcode, MASKED | content.length), mask, masked]));
  }
}
