import { PassThrough } from 'node:stream';
import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** JSON-RPC over pipes that tracks unanswered requests. */
export class AnsweringTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #input = new PassThrough();
  readonly #wire: StdioServerTransport;
  readonly #asked = new Map<RequestId, JSONRPCMessage>();
  #isClosed = false;
  #isLineOpen = false;
  #answered: (() => void) | null = null;

  constructor(input: NodeJS.ReadableStream, output: NodeJS.WriteStream) {
    input.on('data', (piece: Buffer) => {
      this.#isLineOpen = piece.at(-1) !== NEWLINE;
      this.#input.write(piece);
    });
    this.#wire = new StdioServerTransport(this.#input, output);
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#asked.set(message.id, message);
      this.onmessage?.(message);
    };
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => {
      this.#isClosed = true;
      this.#settle();
      this.onclose?.();
    };
    await this.#wire.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const id = 'method' in message ? undefined : message.id;
    if (id !== undefined && !this.#asked.delete(id)) return; // answered when the input ended
    await this.#wire.send(message);
    this.#settle();
  }

  async close(): Promise<void> {
    await this.#wire.close();
  }

  /**
   * Resolves when all requests are answered, or the connection is closed. Call at the end of the input.
   * @param isUndone selects requests to undo, which get an error
   */
  async answerAll(isUndone: (message: JSONRPCMessage) => boolean): Promise<void> {
    if (this.#isLineOpen) this.#input.write('\n');
    await new Promise((resolve) => setImmediate(resolve)); // reads the last input first
    for (const [id, message] of this.#asked) {
      if (!isUndone(message)) continue;
      this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
      const text = 'The input ended before the answer: what this call had begun is undone.';
      await this.send({ jsonrpc: '2.0', id, error: { code: CANCELLED, message: text } });
    }
    await new Promise<void>((resolve) => {
      this.#answered = resolve;
      this.#settle();
    });
  }

  #settle(): void {
    if (this.#isClosed || this.#asked.size === 0) this.#answered?.();
  }
}

const NEWLINE = 0x0a;
/** RequestCancelled of LSP. */
const CANCELLED = -32_800;
