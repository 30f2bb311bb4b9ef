import { EventParser } from '../../clients/typescript/http/event-stream.ts';
import { bearer } from './mcp-clients.ts';

export interface RawEvent {
  id: string;
  message: { id?: unknown; method?: string; result?: Record<string, unknown>; error?: { message: string } } | null;
}

/** Handwritten client of 2025-11-25 that can choose ids, and drop answers. */
export class RawSession {
  id = '';

  constructor(
    private readonly url: string,
    private readonly apiKey: string,
  ) {}

  async initialize(headers: Record<string, string> = {}): Promise<Response> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
    const response = await this.post({ jsonrpc: '2.0', id: 'init', method: 'initialize', params }, headers);
    this.id = response.headers.get('mcp-session-id') ?? '';
    await response.text();
    await (await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' })).text();
    return response;
  }

  post(message: object, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(new URL('/mcp', this.url), {
      method: 'POST',
      headers: { ...this.#headers(), 'content-type': 'application/json', ...headers },
      body: JSON.stringify(message),
      ...(signal && { signal }),
    });
  }

  call(id: number | string, name: string, args: object, signal?: AbortSignal): Promise<Response> {
    return this.post({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }, {}, signal);
  }

  get(headers: Record<string, string> = {}): Promise<Response> {
    return fetch(new URL('/mcp', this.url), {
      headers: { ...this.#headers(), accept: 'text/event-stream', ...headers },
    });
  }

  #headers(): Record<string, string> {
    const session = this.id === '' ? {} : { 'mcp-session-id': this.id };
    return {
      accept: 'application/json, text/event-stream',
      connection: 'close', // a reused connection could be of an ended process
      'mcp-protocol-version': '2025-11-25',
      ...bearer(this.apiKey),
      ...session,
    };
  }
}

/** Yields the events of a stream as they arrive, until it ends or the reader stops. */
export async function* eventsOf(response: Response): AsyncGenerator<RawEvent, void, undefined> {
  const parser = new EventParser();
  const decoder = new TextDecoder();
  for await (const piece of response.body ?? []) {
    for (const { id, data } of parser.push(decoder.decode(piece as Uint8Array, { stream: true }))) {
      yield { id, message: data === '' ? null : (JSON.parse(data) as RawEvent['message']) };
    }
  }
}

/** Returns the only answer of a stream. */
export async function answerOf(response: Response): Promise<NonNullable<RawEvent['message']>> {
  const answers: NonNullable<RawEvent['message']>[] = [];
  for await (const { message } of eventsOf(response)) {
    if (message && ('result' in message || 'error' in message)) answers.push(message);
  }
  const [answer, ...more] = answers;
  if (!answer || more.length > 0) throw new Error(`${answers.length} answers, not one`);
  return answer;
}

export function dataOf({ result }: NonNullable<RawEvent['message']>): Record<string, unknown> {
  return (result?.['structuredContent'] ?? {}) as Record<string, unknown>;
}
