import { NOTHING } from '../model/ports/pieces.ts';
import type { CallOptions, Transport } from './http/transport.ts';
import { sandboxPath } from './paths.ts';

/** Ports of sandboxes. Throws as {@link MayflyClient} does. */
export class Ports {
  readonly #transport: Transport;
  /** undici cancels a body that nobody reads yet when its response is collected. */
  readonly #held = new WeakMap<ReadableStream, Response>();

  constructor(transport: Transport) {
    this.#transport = transport;
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
    const path = `${sandboxPath(sandboxId)}/ports/${port}/connect`;
    const headers = { 'content-type': 'application/octet-stream' };
    const stream = ReadableStream.from(begun(outgoing));
    const response = await this.#transport.open({ method: 'POST', path, headers, stream }, signal);
    const body = response.body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
    this.#held.set(body, response);
    return body;
  }
}

/** With something at once: until then `fetch` would not ask at all, and it may be the program that speaks first. */
async function* begun(outgoing: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield NOTHING;
  yield* outgoing;
}
