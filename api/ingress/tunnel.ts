import { once } from 'node:events';
import { Duplex, PassThrough, Readable } from 'node:stream';
import { END, MAX_PIECE_BYTES, NOTHING, PieceReader, pieceHeader } from '../../model/ports/pieces.ts';
import type { PortTarget } from '../../model/ports/port-address.ts';
import { type Guests, refusalOf } from '../http/guests.ts';

/** Bytes that wait for the other side, each way. */
const WAITING_BYTES = 65_536;

interface Wanted extends PortTarget {
  hostId: string;
  signal: AbortSignal;
  passed: () => void;
}

/**
 * Opens a TCP connection to a port of a sandbox's loopback, by the relay of its host.
 * @param wanted.signal ends it, also when it is open
 * @param wanted.passed is told of bytes, either way
 * @throws MayflyError port_closed, port_refused, too_many_requests, host_unavailable, guest_unreachable
 */
export async function openTunnel(guests: Guests, { hostId, sandboxId, port, signal, passed }: Wanted): Promise<Duplex> {
  const outgoing = new PassThrough({ highWaterMark: WAITING_BYTES });
  outgoing.write(NOTHING); // the head of the request goes with the first of its body
  // Not AbortSignal.any: Node 20 may collect it as garbage, and then it never fires.
  const stop = new AbortController();
  const ended = () => stop.abort(signal.reason);
  signal.addEventListener('abort', ended, { once: true });
  if (signal.aborted) ended();
  const response = await guests.request(hostId, `/ports/${sandboxId}/${port}`, {
    method: 'POST',
    body: Readable.toWeb(outgoing) as ReadableStream<Uint8Array>,
    signal: stop.signal,
  });
  if (!response.ok) {
    outgoing.destroy();
    throw await refusalOf(response);
  }
  return new Tunnel(outgoing, response, stop, passed);
}

/** A connection as node:http wants it. Each side ends its direction when it wants to; what is cut off is destroyed. */
class Tunnel extends Duplex {
  readonly #pieces: AsyncGenerator<Uint8Array | null, void, undefined>;

  constructor(
    private readonly outgoing: PassThrough,
    response: Response,
    private readonly stop: AbortController,
    private readonly passed: () => void,
  ) {
    super({ highWaterMark: WAITING_BYTES });
    this.#pieces = piecesOf(response);
    outgoing.on('error', (error) => this.destroy(error));
    this.on('error', () => {}); // whoever uses it hears of it; it may also break when nobody does any more
  }

  override _read(): void {
    this.#pieces.next().then(
      ({ value }) => {
        this.passed();
        this.push(value ?? null);
        // What is behind its end is the end of the other direction.
        if (!value) this.#pieces.next().catch(() => {});
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.passed();
    let isRoom = true;
    for (let at = 0; at < chunk.length; at += MAX_PIECE_BYTES) {
      const piece = chunk.subarray(at, at + MAX_PIECE_BYTES);
      this.outgoing.write(pieceHeader(piece.length));
      isRoom = this.outgoing.write(piece);
    }
    if (isRoom) done();
    else once(this.outgoing, 'drain').then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.outgoing.end(END, () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isOver = this.readableEnded && this.writableFinished;
    // Both directions have ended: the connection to the relay is good for another.
    if (!isOver) {
      this.stop.abort(error ?? new Error('the connection was given up'));
      this.outgoing.destroy();
    }
    done(error);
  }
}

/** What the program writes, null when it writes no more, and then nothing until both sides have ended. */
async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array | null, void, undefined> {
  const reader = new PieceReader();
  for await (const chunk of body ?? []) {
    if (reader.isEnded) continue;
    yield* reader.read(chunk);
    if (reader.isEnded) yield null;
  }
  if (!reader.isEnded) throw new Error('the connection was cut off');
}
