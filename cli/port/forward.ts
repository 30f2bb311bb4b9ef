import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Ports } from '../../clients/typescript/sandbox/ports.ts';
import { LIMITS } from '../../model/limits.ts';
import { END_FRAME, encodeFrame, FrameReader } from '../../model/ports/pieces.ts';
import { idOrName, JSON_OPTION, positional } from '../terminal/arguments.ts';
import { CliError, EXIT, type ExitCode, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';

const PAIR = /^(?:(\d{1,5}):)?([1-9]\d{0,4})$/;
const OVER: ReadonlySet<string> = new Set(['sandbox_ended', 'sandbox_not_found', 'unauthenticated', 'forbidden']);

interface Pair {
  local: number;
  remote: number;
}

/** `mayfly port forward`: forwards local ports to ports of a sandbox's loopback, until Ctrl-C. */
export const forwardCommand = customCommand({
  description: 'Let ports of this machine lead to ports of a sandbox, until Ctrl-C',
  args: {
    id: positional('Id or name of a sandbox'),
    ports: { type: 'positional', description: '<local>:<remote>, or one number for both; any number of them' },
    address: { type: 'string', description: 'Where to listen on this machine', default: '127.0.0.1' },
    ...JSON_OPTION,
  },
  repeatable: ['ports'],
  async run({ io, args, repeated, connect, options }) {
    const pairs = repeated('ports').map(pairOf);
    if (pairs.length === 0) throw usageError('give at least one <local>:<remote>');
    const client = connect();
    const { id } = await client.getSandbox(idOrName(args.id), options);
    const forwarding = new Forwarding(io, client, id);
    try {
      for (const pair of pairs) {
        const address = await forwarding.listen(args.address, pair);
        if (args.json) io.printJson({ ...address, sandboxId: id, port: pair.remote });
        else io.note(`${formatAddress(address)} leads to port ${pair.remote} of ${id}; Ctrl-C ends it`);
      }
      return await forwarding.over();
    } finally {
      forwarding.close();
    }
  },
});

function pairOf(text: string): Pair {
  const [, local, remote] = PAIR.exec(text) ?? [];
  const pair = { local: Number(local ?? remote), remote: Number(remote) };
  if (pair.local <= 65_535 && pair.remote <= 65_535) return pair;
  throw usageError(`${JSON.stringify(text)} is not <local>:<remote>`, 'Such as 8080:3000; local 0 takes a free port.');
}

function formatAddress({ address, localPort }: { address: string; localPort: number }): string {
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`;
}

class Forwarding {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #stop = new AbortController();

  constructor(
    private readonly io: Io,
    private readonly client: MayflyClient,
    private readonly sandboxId: string,
  ) {}

  /** @throws CliError when it cannot listen there */
  async listen(address: string, { local, remote }: Pair): Promise<{ address: string; localPort: number }> {
    const server = createServer({ allowHalfOpen: true }, (socket) => void this.#carry(socket, remote));
    server.maxConnections = LIMITS.ports.connections;
    this.#servers.push(server);
    server.listen(local, address);
    try {
      await once(server, 'listening', { signal: this.io.signal });
    } catch (cause) {
      this.io.signal.throwIfAborted();
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new CliError(EXIT.failed, `Port ${local} cannot be listened at`, why, 'Take another one, or 0 for any.');
    }
    const bound = server.address() as AddressInfo;
    return { address: bound.address, localPort: bound.port };
  }

  /** Waits for Ctrl-C, or for an error that ends all connections, such as the end of the sandbox. */
  async over(): Promise<ExitCode> {
    const either = AbortSignal.any([this.io.signal, this.#stop.signal]);
    if (!either.aborted) await once(either, 'abort');
    if (!this.#stop.signal.aborted) return EXIT.ok;
    throw this.#stop.signal.reason;
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async #carry(socket: Socket, port: number): Promise<void> {
    const { io, sandboxId, client } = this;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    try {
      await carry(socket, client.ports, { sandboxId, port, signal: io.signal });
    } catch (error) {
      if (io.signal.aborted) return;
      if (error instanceof MayflyApiError && OVER.has(error.problem.code)) return this.#stop.abort(error);
      io.note(`port ${port}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/**
 * Carries one connection to a port of a sandbox until both sides have ended, each on its own. A reset of one side
 * resets the other: half a response must not look complete.
 * @param socket with `allowHalfOpen`; destroyed at the end
 * @throws MayflyApiError, MayflyConnectionError, Error when it was cut off, the signal's reason
 */
async function carry(
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
  // The end of reading must not end the writing.
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield encodeFrame(chunk);
  }
  yield END_FRAME;
}

async function write(socket: Socket, incoming: ReadableStream<Uint8Array>): Promise<void> {
  const reader = new FrameReader();
  for await (const chunk of incoming) {
    for (const part of reader.read(chunk)) {
      if (!socket.write(part)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    }
    if (reader.isEnded && !socket.writableEnded) socket.end();
  }
  if (!reader.isEnded) throw new Error('the connection was cut off');
}
