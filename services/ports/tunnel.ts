import { Duplex } from 'node:stream';
import { END_FRAME, encodeFrame, FrameReader, MAX_FRAME_BYTES, NOOP_FRAME } from '../../model/ports/pieces.ts';
import type { PortTarget } from '../../model/ports/port-address.ts';
import { type Guests, toGuestError } from '../guests.ts';

/** Buffer limit, bytes per direction. */
const WAITING_BYTES = 65_536;

interface TunnelOptions extends PortTarget {
  hostId: string;
  signal: AbortSignal;
  /** Called when bytes pass in either direction. `@default` no-op */
  passed?: () => void;
}

/**
 * Opens a TCP connection to a port of a sandbox's loopback, by the relay of its host. Each side may half-close it;
 * a broken connection is destroyed with an error.
 * @param wanted.signal ends the connection at any time
 * @throws MayflyError port_closed, port_refused, too_many_requests, host_unavailable, guest_unreachable; the signal's
 *   reason
 */
export async function openTunnel(
  guests: Guests,
  { hostId, sandboxId, port, signal, passed }: TunnelOptions,
): Promise<Duplex> {
  // Not AbortSignal.any: Node 20 may garbage-collect it before it fires.
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const release = () => signal.removeEventListener('abort', onAbort);
  const outgoing = new Outgoing();
  try {
    const options = { method: 'POST', body: outgoing.body, signal: stop.signal } as const;
    const response = await guests.request(hostId, `/ports/${sandboxId}/${port}`, options);
    if (!response.ok) {
      outgoing.end(); // keeps the connection to the relay reusable
      throw await toGuestError(response);
    }
    return new Tunnel(outgoing, response, stop, passed).once('close', release);
  } catch (error) {
    release();
    outgoing.cutOff(error);
    throw error;
  }
}

/** Bytes for the program, as a request body with backpressure. */
class Outgoing {
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isOver = false;
  #taken = () => {};
  /** Called when the reader cancels. */
  onCancel: (reason: unknown) => void = () => {};

  readonly body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        this.#controller = controller;
        controller.enqueue(NOOP_FRAME); // sends the request head with the first piece of its body
      },
      pull: () => {
        const taken = this.#taken;
        this.#taken = () => {};
        taken();
      },
      cancel: (reason) => {
        this.#isOver = true;
        this.onCancel(reason);
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
  );

  /** @param done called when there is room for more */
  write(bytes: Uint8Array, done: () => void): void {
    if (this.#isOver) return;
    for (let at = 0; at < bytes.length; at += MAX_FRAME_BYTES) {
      this.#controller?.enqueue(encodeFrame(bytes.subarray(at, at + MAX_FRAME_BYTES)));
    }
    if ((this.#controller?.desiredSize ?? 0) > 0) done();
    else this.#taken = done;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller?.enqueue(END_FRAME);
    this.#controller?.close();
  }

  cutOff(why: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller?.error(why);
  }
}

/** Connection in the form of node:http. */
class Tunnel extends Duplex {
  readonly #pieces: AsyncGenerator<Uint8Array | null, void, undefined>;

  constructor(
    private readonly outgoing: Outgoing,
    response: Response,
    private readonly stop: AbortController,
    private readonly passed: () => void = () => {},
  ) {
    super({ highWaterMark: WAITING_BYTES });
    this.#pieces = piecesOf(response);
    outgoing.onCancel = (reason) => this.destroy(asError(reason));
    this.on('error', () => {}); // an error without another listener must not crash the process
  }

  override _read(): void {
    this.#pieces.next().then(
      ({ value }) => {
        this.passed();
        this.push(value ?? null);
        // The rest, behind its end, is the end of the other direction.
        if (!value) this.#pieces.next().catch(() => {});
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.passed();
    this.outgoing.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.outgoing.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isOver = this.readableEnded && this.writableFinished;
    // When both directions have ended, the connection to the relay stays reusable.
    if (!isOver) {
      const why = error ?? new Error('the connection was given up');
      this.stop.abort(why);
      this.outgoing.cutOff(why);
    }
    done(error);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the connection was cut off');
}

/** Yields the program's output, then null, then nothing until both sides have ended. */
async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array | null, void, undefined> {
  const reader = new FrameReader();
  for await (const chunk of body ?? []) {
    if (reader.isEnded) continue;
    yield* reader.read(chunk);
    if (reader.isEnded) yield null;
  }
  if (!reader.isEnded) throw new Error('the connection was cut off');
}
