import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type { CertClient } from '../ssh/cert-client.ts';
import { AgentBody, abortStream, connectionLost } from './agent-body.ts';
import { ChannelStream } from './channel-stream.ts';
import { measureClockSkew } from './clock-skew.ts';
import type { AgentChannel } from './program.ts';

export interface AgentRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Absolute, with its query, percent-encoded. */
  path: string;
  headers?: Record<string, string>;
  body?: Uint8Array | Readable;
  signal?: AbortSignal;
}

/** Codes with which an agent may refuse requests of every kind. */
export const AGENT_REFUSALS = [
  'invalid_request',
  'invalid_id',
  'body_too_large',
  'not_found',
  'command_not_found',
  'command_ended',
  'command_refused',
  'stdin_conflict',
  'guest_disk_full',
  'too_many_requests',
] as const satisfies readonly ErrorCode[];

/** Answer of the guest; no part of it is trusted. */
export interface AgentResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Fails when it ends early; must be read to its end or destroyed. */
  body: Readable;
}

/**
 * HTTP/2 window of one request: large enough to keep an emulated guest's link busy, small enough for hundreds of slow
 * readers. Bytes.
 */
const STREAM_WINDOW_BYTES = 1_048_576;
/** Window of all requests: nghttp2 returns it as soon as a request has its bytes, so none can block the others. */
const SESSION_WINDOW_BYTES = 8_388_608;
/** Largest frame. With its nine-byte header it fills one SSH packet of 32 KiB; larger ones only delay others. Bytes. */
const FRAME_BYTES = 32_704;
/** Limit of pending writes and headers in one connection, MiB. */
const SESSION_MEMORY_MIB = 64;
/** Timeout from a request's end to its answer, which may follow a sync of a large file to a slow disk. Milliseconds. */
const ANSWER_TIMEOUT_MS = 120_000;
const PING_TIMEOUT_MS = 10_000;
/** Timeout from the session channel to the agent's first frame; the agent may have to be started. Milliseconds. */
const FIRST_FRAME_TIMEOUT_MS = 30_000;

/** Error of an agent that exited instead of speaking HTTP/2, with its exit status. */
export class AgentMissingError extends Error {
  override readonly name = 'AgentNotThere';
  constructor(
    readonly exitCode: number | null,
    readonly complaint: string,
  ) {
    super(`exit ${exitCode}: ${complaint}`);
  }
}

/** HTTP/2 session with one guest's agent, over one SSH session channel; ends with its SSH connection. */
export class AgentSession {
  /** Start or end of the last request. Milliseconds since 1970. */
  lastUsed = Date.now();
  /** Guest's clock minus this machine's, measured at the login; 0 until then. Milliseconds. */
  clockSkewMs = 0;
  #open = 0;

  private constructor(
    private readonly client: CertClient,
    private readonly http2: ClientHttp2Session,
  ) {}

  /** @throws AgentNotThere when the channel ends before any HTTP/2; MayflyError guest_unreachable, guest_failed */
  static async open(client: CertClient, { channel, complaint }: AgentChannel): Promise<AgentSession> {
    let exitCode: number | null = null;
    channel.on('exit', (code: number | null) => {
      exitCode = code;
    });
    const http2 = connect('http://mayfly-agent', {
      createConnection: () => new ChannelStream(channel),
      maxSessionMemory: SESSION_MEMORY_MIB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxFrameSize: FRAME_BYTES },
    });
    http2.on('error', () => {}); // requests get the error themselves
    channel.on('close', () => http2.destroy());
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => {
        const why = `The agent did not speak within ${FIRST_FRAME_TIMEOUT_MS / 1000} s: ${complaint()}`;
        reject(new MayflyError('guest_unreachable', why));
      }, FIRST_FRAME_TIMEOUT_MS);
      const settle = (outcome: () => void) => {
        clearTimeout(late);
        outcome();
      };
      http2.once('remoteSettings', () => settle(resolve));
      channel.once('close', () => settle(() => reject(new AgentMissingError(exitCode, complaint()))));
      http2.once('error', (cause: Error) => {
        const why = `What answers in the agent's place does not speak HTTP/2: ${cause.message}`;
        settle(() => reject(new MayflyError('guest_failed', why, { cause })));
      });
    });
    http2.setLocalWindowSize(SESSION_WINDOW_BYTES);
    const session = new AgentSession(client, http2);
    client.on('close', () => http2.destroy());
    http2.on('close', () => session.close());
    void measureClockSkew(session).then((skewMs) => {
      session.clockSkewMs = skewMs;
    });
    return session;
  }

  get closed(): boolean {
    return this.http2.closed || this.http2.destroyed;
  }

  get openRequests(): number {
    return this.#open;
  }

  onClose(listener: () => void): void {
    this.http2.once('close', listener);
  }

  /** Resolves when the agent has answered. @throws Error when the connection is lost */
  ping(): Promise<void> {
    this.lastUsed = Date.now();
    return new Promise((resolve, reject) => {
      this.http2.ping((error) => (error ? reject(error) : resolve()));
    });
  }

  close(): void {
    this.http2.destroy();
    this.client.end();
  }

  /** Returns the error of a timeout. An agent that answers pings, but not a request, waits for its disk. */
  async #explainTimeout(): Promise<MayflyError> {
    const why = `The agent has not answered within ${ANSWER_TIMEOUT_MS / 1000} s`;
    const late = sleep(PING_TIMEOUT_MS, false, { ref: false });
    const isThere = await Promise.race([this.ping().then(() => true), late]).catch(() => false);
    if (!isThere) return new MayflyError('guest_unreachable', `${why}.`);
    return new MayflyError('guest_failed', `${why}, though it is there: the disk of the guest may be frozen.`);
  }

  /**
   * Sends one request. Resolves with the head of the answer; bodies are streams both ways.
   * @throws MayflyError guest_unreachable when the connection is lost or the agent silent; the signal's reason
   */
  async request({ method, path, headers = {}, body, signal }: AgentRequest): Promise<AgentResponse> {
    signal?.throwIfAborted();
    const stream = this.#begin({ ...headers, ':method': method, ':path': path }, body === undefined);
    const answer = new AgentBody(stream, signal);
    const onAbort = () => abortStream(stream);
    signal?.addEventListener('abort', onAbort, { once: true });
    stream.once('close', () => signal?.removeEventListener('abort', onAbort));
    if (body !== undefined) send(stream, body);
    try {
      return await headOf(stream, answer, () => this.#explainTimeout());
    } catch (error) {
      abortStream(stream);
      signal?.throwIfAborted();
      throw error;
    }
  }

  #begin(headers: Record<string, string>, endStream: boolean): ClientHttp2Stream {
    try {
      const stream = this.http2.request(headers, { endStream });
      this.#open++;
      this.lastUsed = Date.now();
      stream.once('close', () => {
        this.#open--;
        this.lastUsed = Date.now();
      });
      return stream;
    } catch (error) {
      throw connectionLost(error);
    }
  }
}

/**
 * Pipes a request's body, and aborts the request when its source fails or ends early. Not by `pipeline`: an agent that
 * refuses before it has read all resets the stream (RFC 9113 §8.1), and the answer would be lost.
 */
function send(stream: ClientHttp2Stream, body: Uint8Array | Readable): void {
  if (body instanceof Uint8Array) {
    stream.end(body);
    return;
  }
  const stop = () => body.unpipe(stream);
  stream.once('aborted', stop).once('close', stop);
  body.once('error', () => abortStream(stream));
  body.once('close', () => {
    if (!body.readableEnded && !stream.closed) abortStream(stream);
  });
  body.pipe(stream);
}

/** @param silence returns the reason for a missing answer */
function headOf(
  stream: ClientHttp2Stream,
  body: AgentBody,
  silence: () => Promise<MayflyError>,
): Promise<AgentResponse> {
  return new Promise((resolve, reject) => {
    let late: NodeJS.Timeout | undefined;
    const startTimeout = () => {
      late = setTimeout(() => {
        void silence().then((error) => settle(() => reject(error)));
      }, ANSWER_TIMEOUT_MS);
    };
    const settle = (outcome: () => void) => {
      clearTimeout(late);
      stream.off('finish', startTimeout);
      outcome();
    };
    if (stream.writableFinished) startTimeout();
    else stream.once('finish', startTimeout);
    stream.once('response', (headers) => {
      settle(() => resolve({ status: headers[':status'] ?? 0, headers, body }));
    });
    // A stream's error is reported here or, after the head, by its body.
    stream.on('error', (error) => settle(() => reject(connectionLost(error))));
    stream.once('close', () => settle(() => reject(connectionLost(undefined))));
  });
}
