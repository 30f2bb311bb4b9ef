import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyConnectionError } from './problem.ts';
import { isPassing } from './retry.ts';
import type { Transport } from './transport.ts';

/** One server-sent event (WHATWG HTML §9.2). */
export interface ServerEvent {
  /** The last id seen; empty before the first. */
  id: string;
  /** `message` when the server gave no name. */
  event: string;
  data: string;
}

/** One event may not be longer: a server that never ends a line must not fill our memory. Characters. */
const MAX_EVENT_LENGTH = 1_048_576;
/** Wait before connecting again, unless the server's `retry` field says otherwise. Milliseconds. */
const RECONNECT_MS = 500;

/** Takes a stream apart into events; a last event without its blank line is dropped, as the standard says. */
export class EventParser {
  /** What the server asked for in `retry:`, milliseconds; null when it did not. */
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
      // A CR at the very end may be half of a CRLF: wait for what follows.
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
  /** Go on after this event. */
  lastEventId?: string;
  /** How long the API may bring no event and stay away before the stream is given up. Seconds. `@default` the client's */
  deadlineSeconds?: number;
}

/**
 * Follows a stream across broken connections (`Last-Event-ID`) until `isOver` says, after the server has ended it,
 * that nothing more will come.
 * @throws MayflyApiError when the API refuses; MayflyConnectionError when it stays away
 */
export async function* followEvents(
  transport: Transport,
  path: string,
  isOver: () => Promise<boolean>,
  options: EventStreamOptions = {},
): AsyncGenerator<ServerEvent, void, undefined> {
  const { signal, deadlineSeconds = transport.deadlineSeconds } = options;
  let cause: unknown = new Error('the event stream keeps breaking');
  let lastEventId = options.lastEventId ?? '';
  let reconnectMs = RECONNECT_MS;
  for (let heardAt = performance.now(); performance.now() - heardAt < deadlineSeconds * 1_000; ) {
    const parser = new EventParser(lastEventId);
    try {
      for await (const event of connect(transport, path, parser, lastEventId, signal)) {
        lastEventId = event.id;
        yield event;
        heardAt = performance.now();
      }
      if (await isOver()) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(error)) throw error;
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
    await body.return?.().catch(() => {}); // the connection is already gone: closing it has nothing to add
  }
}
