import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyConnectionError } from './problem.ts';
import { isTransient } from './retry.ts';
import type { Transport } from './transport.ts';

/** Server-sent event (WHATWG HTML §9.2). */
export interface ServerEvent {
  /** Last id received; empty before the first. */
  id: string;
  /** `message` when the server gave no name. */
  event: string;
  data: string;
}

/** Limit of one event, characters: a server that never ends a line must not fill our memory. */
const MAX_EVENT_LENGTH = 1_048_576;
/** Wait before a reconnect, ms, unless the server's `retry` field sets another. */
const RECONNECT_MS = 500;

/** Parses a stream into events; a last event without its blank line is dropped, as the standard requires. */
export class EventParser {
  /** Value of the server's `retry:`, ms; null without one. */
  retryMs: number | null = null;
  #buffer = '';
  #id = '';
  #event = '';
  #data: string[] = [];
  #atStart = true;

  constructor(lastEventId = '') {
    this.#id = lastEventId;
  }

  /** @throws RangeError when one event is longer than 1 MiB */
  push(chunk: string): ServerEvent[] {
    this.#buffer += this.#atStart && chunk.startsWith('\uFEFF') ? chunk.slice(1) : chunk;
    if (chunk !== '') this.#atStart = false;
    const events: ServerEvent[] = [];
    for (;;) {
      // A CR at the very end may be half of a CRLF: wait for the next chunk.
      const end = /\r\n|\n|\r(?!$)/.exec(this.#buffer);
      if (!end) break;
      const event = this.#line(this.#buffer.slice(0, end.index));
      this.#buffer = this.#buffer.slice(end.index + end[0].length);
      if (event) events.push(event);
    }
    const pending = this.#data.reduce((sum, line) => sum + line.length, this.#buffer.length);
    if (pending > MAX_EVENT_LENGTH) throw new RangeError('the server sent an event of more than 1 MiB');
    return events;
  }

  #line(line: string): ServerEvent | null {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d{1,6}$/.test(value)) this.retryMs = Number(value);
    return null;
  }

  #dispatch(): ServerEvent | null {
    const data = this.#data;
    const event = this.#event || 'message';
    this.#data = [];
    this.#event = '';
    return data.length === 0 ? null : { id: this.#id, event, data: data.join('\n') };
  }
}

export interface EventStreamOptions {
  signal?: AbortSignal;
  /** Id of the event after which the stream continues. */
  lastEventId?: string;
  /** Time without an event from an unavailable API, after which the stream is aborted, s. `@default` the client's */
  deadlineSeconds?: number;
}

/**
 * Follows a stream across broken connections (`Last-Event-ID`), until the server has ended it and `isOver` confirms
 * that.
 * @throws MayflyApiError when the API refuses; MayflyConnectionError when it stays unavailable
 */
export async function* followEvents(
  transport: Transport,
  path: string,
  hasEnded: () => Promise<boolean>,
  options: EventStreamOptions = {},
): AsyncGenerator<ServerEvent, void, undefined> {
  const { signal, deadlineSeconds = transport.deadlineSeconds } = options;
  let cause: unknown = new Error('the event stream keeps breaking');
  let lastEventId = options.lastEventId ?? '';
  let reconnectMs = RECONNECT_MS;
  for (let lastEventAt = performance.now(); performance.now() - lastEventAt < deadlineSeconds * 1_000; ) {
    const parser = new EventParser(lastEventId);
    try {
      for await (const event of connect(transport, path, parser, lastEventId, signal)) {
        lastEventId = event.id;
        yield event;
        lastEventAt = performance.now();
      }
      if (await hasEnded()) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTransient(error)) throw error;
      cause = error;
    }
    reconnectMs = parser.retryMs ?? reconnectMs;
    await sleep(reconnectMs, undefined, signal && { signal });
  }
  throw new MayflyConnectionError(transport.baseUrl, cause);
}

async function* connect(
  transport: Transport,
  path: string,
  parser: EventParser,
  lastEventId: string,
  signal?: AbortSignal,
): AsyncGenerator<ServerEvent, void, undefined> {
  const headers = { accept: 'text/event-stream', ...(lastEventId && { 'last-event-id': lastEventId }) };
  const response = await transport.open({ method: 'GET', path, headers }, signal);
  if (!response.body) return;
  const decoder = new TextDecoder();
  const body = response.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const read = await body.next().catch((error: unknown) => {
        throw new MayflyConnectionError(transport.baseUrl, error);
      });
      if (read.done) return;
      yield* parser.push(decoder.decode(read.value as Uint8Array, { stream: true }));
    }
  } finally {
    await body.return?.().catch(() => {}); // the connection has failed already: an error of its close adds nothing
  }
}
