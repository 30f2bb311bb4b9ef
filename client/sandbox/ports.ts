import type { ExposedPort, PortSettings } from '../../model/ports/exposed-port.ts';
import { NOTHING } from '../../model/ports/pieces.ts';
import { sandboxPath } from '../http/paths.ts';
import type { CallOptions, Transport } from '../http/transport.ts';

/** A port that is open for HTTP, and where. */
export interface OpenPort extends Omit<ExposedPort, 'project' | 'secret'> {
  url: string;
  /** For where names below the common one lead nowhere: without cookies, and its pages have no origin. */
  pathUrl: string;
}

/** Lets whoever has it use one port until it expires. */
export interface PortToken {
  /** By which the audit calls it. */
  id: string;
  /** For the header `X-Mayfly-Token`. */
  token: string;
  /** ISO 8601. */
  expiresAt: string;
  /** Of the port, with the token: for a browser. */
  url: string;
}

/** Ports of sandboxes. Throws as {@link MayflyClient} does. */
export class Ports {
  readonly #transport: Transport;
  /** undici cancels a body that nobody reads yet when its response is collected. */
  readonly #held = new WeakMap<ReadableStream, Response>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Opens a port for HTTP. The same again answers what is open.
   * @param settings `@default` for who has a token, as `localhost`, without CORS, and a sandbox that sleeps stays asleep
   */
  open(
    sandboxId: string,
    port: number,
    settings: Partial<PortSettings> = {},
    options: CallOptions = {},
  ): Promise<OpenPort> {
    return this.#transport.json({ method: 'POST', path: pathOf(sandboxId), body: { port, ...settings } }, options);
  }

  /** Those that are open for HTTP, by number. */
  async list(sandboxId: string, options: CallOptions = {}): Promise<OpenPort[]> {
    const found = await this.#transport.json<{ items: OpenPort[] }>(
      { method: 'GET', path: pathOf(sandboxId) },
      options,
    );
    return found.items;
  }

  get(sandboxId: string, port: number, options: CallOptions = {}): Promise<OpenPort> {
    return this.#transport.json({ method: 'GET', path: pathOf(sandboxId, port) }, options);
  }

  /** What goes through it ends within a second, and its tokens are void. */
  close(sandboxId: string, port: number, options: CallOptions = {}): Promise<void> {
    return this.#transport.jsonOnce({ method: 'DELETE', path: pathOf(sandboxId, port) }, options);
  }

  /** @param ttlSeconds `@default` 3600 */
  issueToken(sandboxId: string, port: number, ttlSeconds?: number, options: CallOptions = {}): Promise<PortToken> {
    const body = ttlSeconds === undefined ? {} : { ttlSeconds };
    return this.#transport.json({ method: 'POST', path: `${pathOf(sandboxId, port)}/tokens`, body }, options);
  }

  /** All that were issued for a port. */
  voidTokens(sandboxId: string, port: number, options: CallOptions = {}): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: `${pathOf(sandboxId, port)}/tokens` }, options);
  }

  /**
   * Opens a TCP connection to a port of the sandbox's loopback. Both streams are pieces, as the API describes them.
   * @param outgoing what is written to the program; nothing is sent again
   * @returns what the program writes
   */
  async connect(
    sandboxId: string,
    port: number,
    outgoing: ReadableStream<Uint8Array>,
    { signal }: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const path = `${pathOf(sandboxId, port)}/connect`;
    const headers = { 'content-type': 'application/octet-stream' };
    const stream = ReadableStream.from(begun(outgoing));
    const response = await this.#transport.open({ method: 'POST', path, headers, stream }, signal);
    const body = response.body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
    this.#held.set(body, response);
    return body;
  }
}

function pathOf(sandboxId: string, port?: number): string {
  const all = `${sandboxPath(sandboxId)}/ports`;
  return port === undefined ? all : `${all}/${port}`;
}

/** With something at once: until then `fetch` would not ask at all, and it may be the program that speaks first. */
async function* begun(outgoing: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield NOTHING;
  yield* outgoing;
}
