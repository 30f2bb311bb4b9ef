import { type ClientHttp2Stream, constants } from 'node:http2';
import { Readable } from 'node:stream';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';

/**
 * Body of an answer, which fails when it ends early. Node's own stream does not: it ends normally when its session is
 * destroyed, and when the peer resets it with CANCEL (`Http2Stream._destroy` of Node 20).
 */
export class AgentBody extends Readable {
  /** Must be constructed together with the stream, or it could miss the stream's end. */
  constructor(
    private readonly stream: ClientHttp2Stream,
    private readonly abort: AbortSignal | undefined,
  ) {
    super({ highWaterMark: 0 }); // unread bytes stay in the stream, whose window counts them
    stream.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause();
    });
    stream.pause();
    stream.on('end', () => {
      if (stream.destroyed || stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#lose(undefined);
      else this.push(null);
    });
    stream.on('error', (error) => this.#lose(error));
    stream.on('close', () => {
      if (!stream.readableEnded) this.#lose(undefined);
    });
    this.on('error', () => {}); // the reader gets it
  }

  override _read(): void {
    this.stream.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.stream.readableEnded) abortStream(this.stream);
    callback(error);
  }

  #lose(cause: unknown): void {
    this.destroy(this.abort?.aborted ? reasonOf(this.abort) : connectionLost(cause));
  }
}

/**
 * Aborts a stream. Not by `close(CANCEL)`: that ends the writable side first, so the agent takes half an upload for a
 * whole one; and Node 20 may forget its RST_STREAM, or never return while a pipeline feeds the stream.
 */
export function abortStream(stream: ClientHttp2Stream): void {
  stream.destroy(new Error('the request was given up'));
}

/** Returns the error of a request whose connection was lost. */
export function connectionLost(cause: unknown): MayflyError {
  if (cause instanceof MayflyError) return cause;
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new MayflyError('guest_unreachable', `The connection to the guest was lost during a request${why}`, { cause });
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** Reads a body that must be small. @throws MayflyError `tooLarge` */
export async function readSmall(body: Readable, maxBytes: number, tooLarge: ErrorCode): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new MayflyError(tooLarge, `A body was longer than the ${maxBytes} bytes it may have.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
