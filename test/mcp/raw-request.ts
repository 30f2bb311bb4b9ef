import { bearer } from './mcp-clients.ts';

export interface RawAnswer {
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** Handwritten client of 2026-07-28: each request declares the client's capabilities. */
export class RawRequests {
  #id = 0;

  constructor(
    private readonly apiKey: string,
    private readonly capabilities: object = {},
  ) {}

  async ask(url: string, method: string, params: Record<string, unknown>): Promise<RawAnswer> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '0' },
      'io.modelcontextprotocol/clientCapabilities': this.capabilities,
    };
    const response = await fetch(new URL('/mcp', url), {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': String(params['name'] ?? params['taskId']),
        ...bearer(this.apiKey),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#id, method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    const [last = text] = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data).slice(-1);
    return JSON.parse(last) as RawAnswer;
  }

  async call(url: string, name: string, args: object, more: object = {}): Promise<Record<string, unknown>> {
    const { result, error } = await this.ask(url, 'tools/call', { name, arguments: args, ...more });
    if (!result) throw new Error(JSON.stringify(error));
    return result;
  }
}
