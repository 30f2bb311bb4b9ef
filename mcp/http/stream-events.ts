import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type EventStore,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { McpEvent, McpEvents } from '../../store/mcp/mcp-events.ts';

/** Stream of a session without a request (the SDK's name for it); its messages are never replayed. */
const STANDALONE = '_GET_stream';
/** Interval of reporting running requests, and of polling for cancels from other processes, ms. */
export const HEARTBEAT_MS = 3_000;

/**
 * Delay of storing sent messages, all in one write, ms: a short call does not wait for the store. A client that lost
 * its stream reconnects later than that, after a second.
 */
export const STORE_DELAY_MS = 200;

/** Maximum number of messages held for a client that is not listening yet. */
const MAX_HELD = 20;

interface Stream {
  requestId: RequestId;
  streamId: string;
  /** Number of the next event. */
  place: number;
  over: Promise<void>;
  end: () => void;
}

/**
 * Events of one session, stored so that a client that lost a stream gets the rest: from any process, for the time in
 * model/limits.ts. Without the store only that is lost, not the answer.
 */
export class StreamEvents implements EventStore {
  readonly #streams = new Map<string, Stream>();
  readonly #requestOf = new AsyncLocalStorage<RequestId | null>();
  readonly #timer: NodeJS.Timeout;
  readonly #held: JSONRPCMessage[] = [];
  readonly #unkept: McpEvent[] = [];
  #keeping: Promise<void> | null = null;
  #isListened = false;

  constructor(
    readonly sessionId: string,
    private readonly events: McpEvents,
    private readonly logger: Logger,
    /** Called for a request that was cancelled in another process. */
    onCancelled: (requestId: RequestId) => void,
  ) {
    this.#timer = setInterval(() => void this.#stay(onCancelled), HEARTBEAT_MS).unref();
  }

  /** Resolves when a running request has been answered, or was cancelled. */
  async over(requestId: RequestId): Promise<void> {
    for (let stream = this.#of(requestId); stream; stream = this.#of(requestId)) await stream.over;
  }

  get isBusy(): boolean {
    return this.#streams.size > 0;
  }

  /** Attributes messages sent during `act` to a request; null: they are not stored. */
  during<T>(requestId: RequestId | null, act: () => Promise<T>): Promise<T> {
    return this.#requestOf.run(requestId, act);
  }

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const requestId = this.#requestOf.getStore() ?? null;
    if (streamId === STANDALONE) this.#hold(message);
    if (streamId === STANDALONE || requestId === null) return '';
    const stream = this.#streams.get(streamId) ?? this.#begin(streamId, requestId);
    if (!('jsonrpc' in message)) return `${streamId}.0`;
    const place = stream.place++;
    // It is sent at once: a client that loses it before it is stored waits in replay.ts, or gets an error there.
    void this.#keep(streamId, place, message).then(() => isAnswer(message) && this.#end(stream));
    return `${streamId}.${place}`;
  }

  /** Drops a cancelled request: no answer follows. */
  async forget(requestId: RequestId): Promise<void> {
    const stream = this.#of(requestId);
    if (stream) this.#end(stream);
    else await this.events.append([this.#cancelled(requestId)]).catch((error: unknown) => this.#lost(error));
  }

  /** Marks the client as listening to the stream without a request, until it disconnects. @returns the held messages */
  listened(gone: AbortSignal): JSONRPCMessage[] {
    this.#isListened = true;
    gone.addEventListener('abort', () => {
      this.#isListened = false;
    });
    return this.#held.splice(0);
  }

  /**
   * Holds a message that the SDK would drop while the client is not listening, such as a tool's question before that.
   */
  #hold(message: JSONRPCMessage): void {
    if (this.#isListened) return;
    this.#held.push(message);
    if (this.#held.length > MAX_HELD) this.#held.shift();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams.values()) this.#end(stream);
  }

  async replayEventsAfter(): Promise<string> {
    throw new Error('streams are resumed by replay.ts');
  }

  #begin(streamId: string, requestId: RequestId): Stream {
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const stream = { requestId, streamId, place: 1, over, end };
    this.#streams.set(streamId, stream);
    void this.#keep(streamId, 0, requestId);
    return stream;
  }

  #end(stream: Stream): void {
    this.#streams.delete(stream.streamId);
    stream.end();
  }

  /** Resolves when it is stored, or never will be. */
  #keep(streamId: string, place: number, message: unknown): Promise<void> {
    this.#unkept.push({ sessionId: this.sessionId, streamId, place, message, at: new Date().toISOString() });
    this.#keeping ??= sleep(STORE_DELAY_MS).then(() => this.#keepAll());
    return this.#keeping;
  }

  async #keepAll(): Promise<void> {
    this.#keeping = null;
    await this.events.append(this.#unkept.splice(0)).catch((error: unknown) => this.#lost(error));
  }

  async #stay(onCancelled: (requestId: RequestId) => void): Promise<void> {
    const at = new Date().toISOString();
    try {
      for (const { streamId, requestId } of this.#streams.values()) {
        await this.events.stay(streamId, at);
        const { streamId: name, place } = this.#cancelled(requestId);
        if (await this.events.get(this.sessionId, name, place)) onCancelled(requestId);
      }
    } catch (error) {
      this.#lost(error);
    }
  }

  #lost(error: unknown): void {
    this.logger.warn({ err: error, sessionId: this.sessionId }, 'a stream of MCP could not be resumed now');
  }

  #of(requestId: RequestId): Stream | undefined {
    return [...this.#streams.values()].find((stream) => stream.requestId === requestId);
  }

  #cancelled(requestId: RequestId) {
    const digest = createHash('sha256').update(JSON.stringify(requestId)).digest('hex');
    const streamId = `cancelled-${this.sessionId}-${digest}`;
    return { sessionId: this.sessionId, streamId, place: 0, message: requestId, at: new Date().toISOString() };
  }
}

export function isAnswer(message: unknown): boolean {
  return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
}
