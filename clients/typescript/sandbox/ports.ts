import { NOOP_FRAME } from '../../../model/ports/pieces.ts';
import type { CallOptions } from '../http/deadline.ts';
import type { Port, PortToken } from '../http/openapi.ts';
import { type BodyOf, Resource, sandboxPath } from '../http/resource.ts';

type PortSettings = Omit<BodyOf<'POST /v1/sandboxes/{id}/ports'>, 'port'>;

/** Ports of sandboxes. */
export class Ports extends Resource {
  readonly get = this.ask('GET /v1/sandboxes/{id}/ports/{port}');
  /** Revokes all tokens that were issued for a port. */
  readonly voidTokens = this.ask('DELETE /v1/sandboxes/{id}/ports/{port}/tokens');
  readonly #open = this.send('POST /v1/sandboxes/{id}/ports');
  readonly #list = this.ask('GET /v1/sandboxes/{id}/ports');
  readonly #issueToken = this.send('POST /v1/sandboxes/{id}/ports/{port}/tokens');
  /** Responses of open bodies: undici cancels a body that is not read yet when its response is garbage-collected. */
  readonly #held = new WeakMap<ReadableStream, Response>();

  /** Opens a port for HTTP. Idempotent. @param settings `@default` for holders of a token, as `localhost`, without CORS or resume */
  open(sandboxId: string, port: number, settings: PortSettings = {}, options: CallOptions = {}): Promise<Port> {
    return this.#open(sandboxId, { port, ...settings }, options);
  }

  /** Lists ports that are open for HTTP, by number. */
  async list(sandboxId: string, options: CallOptions = {}): Promise<Port[]> {
    return (await this.#list(sandboxId, options)).items;
  }

  /** Ends its connections within a second, and revokes its tokens. */
  close(sandboxId: string, port: number, options: CallOptions = {}): Promise<void> {
    return this.transport.jsonOnce({ method: 'DELETE', path: `${sandboxPath(sandboxId)}/ports/${port}` }, options);
  }

  /** @param ttlSeconds `@default` 3600 */
  issueToken(sandboxId: string, port: number, ttlSeconds?: number, options: CallOptions = {}): Promise<PortToken> {
    return this.#issueToken(sandboxId, port, ttlSeconds === undefined ? {} : { ttlSeconds }, options);
  }

  /**
   * Opens a TCP connection to a port of the sandbox's loopback. Both streams are pieces, as the API describes them.
   * @param outgoing pieces for the program; never sent again
   * @returns pieces from the program
   */
  async connect(
    sandboxId: string,
    port: number,
    outgoing: ReadableStream<Uint8Array>,
    { signal }: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const path = `${sandboxPath(sandboxId)}/ports/${port}/connect`;
    const headers = { 'content-type': 'application/octet-stream' };
    const stream = ReadableStream.from(withEmptyFirstPiece(outgoing));
    const response = await this.transport.open({ method: 'POST', path, headers, stream }, signal);
    const body = response.body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
    this.#held.set(body, response);
    return body;
  }
}

/** Sends an empty piece at once: without one `fetch` would not send the request, and the program may speak first. */
async function* withEmptyFirstPiece(outgoing: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield NOOP_FRAME;
  yield* outgoing;
}
