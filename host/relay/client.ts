import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { MayflyError } from '../../model/errors.ts';
import type { GuestRequest, Guests } from '../../services/guests.ts';
import type { RelayAddress } from '../../store/access/relays.ts';
import { currentRequestId, REQUEST_ID_HEADER } from '../../store/audit/request-id.ts';
import type { Store } from '../../store/connect.ts';
import { IDENTITY, TLS } from './tls.ts';
import { webStream } from './web-stream.ts';

/** Idle time of a kept connection, ms; shorter than the relay's, so that none is used just as the relay closes it. */
const UNUSED_MS = 60_000;
/** Connection timeout of a relay, which is on this machine or on the same network. Milliseconds. */
const CONNECT_MS = 5_000;
/** Statuses without a body: RFC 9110 §6.4.1. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
/** Headers of the connection to the relay, not of the answer: RFC 9110 §7.6.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date']);

/** Error before any of the request has reached the relay. */
class NotConnectedError extends Error {}

export class RelayClient implements Guests {
  /** Addresses by host; replaced when a relay is unreachable: a restarted worker has another. */
  readonly #known = new Map<string, RelayAddress>();
  // A resumed session would prove an old key.
  readonly #agent = new Agent({ keepAlive: true, timeout: UNUSED_MS, maxCachedSessions: 0, scheduling: 'lifo' });

  constructor(private readonly store: Pick<Store, 'hosts' | 'relays'>) {}

  async request(hostId: string, path: string, init: GuestRequest = {}): Promise<Response> {
    const { signal } = init;
    signal?.throwIfAborted();
    try {
      const known = this.#known.get(hostId);
      if (known) return await this.#send(known, path, init);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof NotConnectedError)) throw await this.#unavailable(hostId, error);
    }
    const announced = await this.store.relays.get(hostId);
    if (!announced) throw await this.#unavailable(hostId, new NotConnectedError('it has not said where its relay is'));
    this.#known.set(hostId, announced);
    try {
      return await this.#send(announced, path, init);
    } catch (error) {
      signal?.throwIfAborted();
      throw await this.#unavailable(hostId, error);
    }
  }

  /** Closes kept connections. Requests under way fail. */
  close(): void {
    this.#agent.destroy();
  }

  #send({ url, key }: RelayAddress, path: string, init: GuestRequest): Promise<Response> {
    const { method = 'GET', headers, body, signal } = init;
    const requestId = currentRequestId();
    const { hostname, port } = new URL(url);
    const options: RequestOptions & Pick<ConnectionOptions, 'pskCallback'> = {
      ...TLS,
      agent: this.#agent,
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      path,
      method,
      headers: {
        ...headers,
        ...(requestId !== undefined && { [REQUEST_ID_HEADER]: requestId }),
        ...(body instanceof Uint8Array && { 'content-length': String(body.length) }),
      },
      pskCallback: () => ({ psk: Buffer.from(key, 'hex'), identity: IDENTITY }),
      checkServerIdentity: () => undefined, // no certificate: the holder of the key is the relay
      ...(signal && { signal }),
    };
    const request = httpsRequest(options);
    request.setNoDelay(true); // node:tls drops the agent's option, and Nagle would delay a small write by 40 ms
    return new Promise((resolve, reject) => {
      let reached = false;
      const late = setTimeout(() => {
        request.destroy(new NotConnectedError(`no connection to ${url} within ${CONNECT_MS / 1000} s`));
      }, CONNECT_MS);
      request.once('socket', (socket) => {
        const ready = () => {
          clearTimeout(late);
          reached = true;
          if (body instanceof ReadableStream) pipeline(Readable.fromWeb(body), request, () => {});
          else request.end(body);
        };
        if (request.reusedSocket) ready();
        else socket.once('secureConnect', ready);
      });
      request.once('response', (response) => resolve(toResponse(response)));
      request.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(late);
        // A kept connection that the relay had just closed; the request may be repeated (docs/architecture.md#the-relay).
        const stale = request.reusedSocket && error.code === 'ECONNRESET' && !(body instanceof ReadableStream);
        reject(reached && !stale ? error : new NotConnectedError(error.message, { cause: error }));
      });
    });
  }

  async #unavailable(hostId: string, cause: unknown): Promise<MayflyError> {
    const host = await this.store.hosts.get(hostId);
    const heard = host ? `it was last heard of at ${host.lastSeenAt}` : 'it was never heard of';
    const why = cause instanceof Error ? cause.message : String(cause);
    const what = cause instanceof NotConnectedError ? 'cannot be reached' : 'went away during the request';
    return new MayflyError(
      'host_unavailable',
      `The worker of host ${hostId} ${what}: ${why}; ${heard}. Start it on that machine: \`mayfly serve host\`, or \`mayfly up\`.`,
      { cause },
    );
  }
}

function toResponse(message: IncomingMessage): Response {
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) {
    if (typeof value === 'string' && !HOP_BY_HOP.has(name)) headers.set(name, value);
  }
  if (!BODILESS.has(status)) return new Response(webStream(message), { status, headers });
  message.resume();
  return new Response(null, { status, headers });
}
