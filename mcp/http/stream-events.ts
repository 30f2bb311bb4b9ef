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

/** The stream of a session that belongs to no request (the SDK's name for it); nothing of it is sent twice. */
const STANDALONE = '_GET_stream';
/** How often a process says that it still has a request, and looks whether another was told to cancel it. Milliseconds. */
export const STAY_MS = 3_000;

/**
 * What is sent is kept so much later, all of it in one write: a short call is not held up by the store. A client that lost its
 * stream is told to come back later than that, after a second. Milliseconds.
 */
export const KEPT_AFTER_MS = 200;

/** Messages that wait for a client to listen. */
const HELD = 20;

interface Stream {
  requestId: RequestId;
  streamId: string;
  /** Of the next event. */
  place: number;
  over: Promise<void>;
  end: () => void;
}

/**
 * What one session sends, kept so that whoever lost a stream gets the rest of it: from this process or another, for as long
 * as model/limits.ts says. A store that is away costs that, and not the answer.
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
    /** Is told of a request that was cancelled at another process. */
    onCancelled: (requestId: RequestId) => void,
  ) {
    this.#timer = setInterval(() => void this.#stay(onCancelled), STAY_MS).unref();
  }

  /** Resolves when a request that is under way here has been answered, or was cancelled. */
  async over(requestId: RequestId): Promise<void> {
    for (let stream = this.#of(requestId); stream; stream = this.#of(requestId)) await stream.over;
  }

  get isBusy(): boolean {
    return this.#streams.size > 0;
  }

  /** What is sent meanwhile belongs to that request; null: it is not kept. */
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
    // It leaves at once: who loses it before it is kept is told so by replay.ts, or waits there until it is.
    void this.#keep(streamId, place, message).then(() => isAnswer(message) && this.#end(stream));
    return `${streamId}.${place}`;
  }

  /** Who asked wants no answer: none will come. */
  async forget(requestId: RequestId): Promise<void> {
    const stream = this.#of(requestId);
    if (stream) this.#end(stream);
    else await this.events.append([this.#cancelled(requestId)]).catch((error: unknown) => this.#lost(error));
  }

  /**
   * The client listens to the stream that belongs to no request, until it is gone.
   * @returns what was to be sent there before
   */
  listened(gone: AbortSignal): JSONRPCMessage[] {
    this.#isListened = true;
    gone.addEventListener('abort', () => {
      this.#isListened = false;
    });
    return this.#held.splice(0);
  }

  /** The SDK drops what it sends there while nobody listens, such as what a tool asks before its client has come to do that. */
  #hold(message: JSONRPCMessage): void {
    if (this.#isListened) return;
    this.#held.push(message);
    if (this.#held.length > HELD) this.#held.shift();
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

  /** Resolves when it is kept, or never will be. */
  #keep(streamId: string, place: number, message: unknown): Promise<void> {
    this.#unkept.push({ sessionId: this.sessionId, streamId, place, message, at: new Date().toISOString() });
    this.#keeping ??= sleep(KEPT_AFTER_MS).then(() => this.#keepAll());
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
