import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Ports } from '../../clients/typescript/sandbox/ports.ts';
import { END, PieceReader, pieceOf } from '../../model/ports/pieces.ts';

/**
 * Carries one connection to a port of a sandbox until both sides have ended, each when it wants to. When it is cut off,
 * so is the other side: half an answer must not look like a whole one.
 * @param socket with `allowHalfOpen`; destroyed when this is over
 * @throws MayflyApiError, MayflyConnectionError, Error when it was cut off, the signal's reason
 */
export async function carry(
  socket: Socket,
  ports: Pick<Ports, 'connect'>,
  { sandboxId, port, signal }: { sandboxId: string; port: number; signal: AbortSignal },
): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  socket.setNoDelay(true);
  socket.on('error', () => stop.abort(new Error('the program on this side is gone')));
  try {
    const incoming = await ports.connect(sandboxId, port, ReadableStream.from(pieces(socket)), { signal: either });
    await write(socket, incoming);
    if (!socket.readableEnded) await once(socket, 'end', { signal: either });
    socket.destroySoon();
  } catch (error) {
    stop.abort(error);
    socket.resetAndDestroy();
    throw error;
  }
}

async function* pieces(socket: Socket): AsyncGenerator<Uint8Array, void, undefined> {
  // Reading to its end must not end the writing.
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield pieceOf(chunk);
  }
  yield END;
}

async function write(socket: Socket, incoming: ReadableStream<Uint8Array>): Promise<void> {
  const reader = new PieceReader();
  for await (const chunk of incoming) {
    for (const part of reader.read(chunk)) {
      if (!socket.write(part)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    }
    if (reader.isEnded && !socket.writableEnded) socket.end();
  }
  if (!reader.isEnded) throw new Error('the connection was cut off');
}
