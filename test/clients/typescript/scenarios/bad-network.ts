import { request as ask, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { closeServer, listen } from '../../../support/listen.ts';

/** Fault for requests whose `METHOD /path` matches. */
const fault = z.strictObject({
  match: z.string(),
  times: z.int().default(1),
  does: z.enum(['lose', 'refuse', 'cut', 'alter', 'stall', 'garble']),
  /** Bytes of the answer that pass before a cut; one more each time. */
  after: z.int().default(0),
});
type Fault = z.infer<typeof fault>;

const REFUSED = { title: 'Not now', status: 503, code: 'store_unavailable', retryable: true };
/** Fields and values that no current client knows. */
const OF_TOMORROW = { ofTomorrow: { a: [1] }, state: 'of-tomorrow' };
const CONTROL = '/_network';

/**
 * Faulty proxy between a client and the API. A program in any language sets its fault by `PUT /_network`, and reads the
 * requests since then with GET.
 */
export class BadNetwork {
  readonly #server: Server;
  readonly #api: URL;
  #fault: Fault | null = null;
  #seen: { line: string; key: string | null; body: number }[] = [];
  #open = 0;

  private constructor(api: string) {
    this.#api = new URL(api);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async before(api: string): Promise<BadNetwork> {
    const network = new BadNetwork(api);
    await listen(network.#server);
    return network;
  }

  get url(): string {
    const address = this.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the network does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  async stop(): Promise<void> {
    await closeServer(this.#server);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === CONTROL) return this.#control(request, response);
    const line = `${request.method} ${request.url}`;
    const entry = { line, key: one(request.headers['idempotency-key']), body: 0 };
    this.#seen.push(entry);
    const due = this.#due(line);
    this.#open++;
    response.on('close', () => this.#open--);
    if (due?.does === 'stall') return;
    if (due?.does === 'refuse') return json(response, 503, REFUSED, { 'retry-after': '0' });
    if (due?.does === 'garble') return json(response, 409, { code: 'of_tomorrow', ...OF_TOMORROW });
    const { hostname, port } = this.#api;
    const { method = '', url = '', headers } = request;
    const onward = ask({ hostname, port, method, path: url, headers: { ...headers, host: this.#api.host } });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.on('response', (answer) => this.#answer(answer, response, due));
    request.on('data', (chunk: Buffer) => (entry.body += chunk.length));
    request.pipe(onward);
  }

  #answer(answer: IncomingMessage, response: ServerResponse, due: Fault | null): void {
    answer.on('error', () => response.destroy());
    if (due?.does === 'lose') {
      answer.resume().on('end', () => response.destroy());
      return;
    }
    if (due?.does === 'alter') {
      altered(answer, response);
      return;
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    if (due?.does !== 'cut') {
      answer.pipe(response);
      return;
    }
    let left = due.after++;
    response.flushHeaders();
    answer.on('data', (chunk: Buffer) => {
      const passed = chunk.subarray(0, left);
      left -= passed.length;
      response.write(passed, () => left === 0 && response.destroy());
    });
    answer.on('end', () => response.end());
  }

  /** Returns the fault that applies to this request, if any. */
  #due(line: string): Fault | null {
    const now = this.#fault;
    if (now === null || now.times === 0 || !new RegExp(now.match).test(line)) return null;
    now.times--;
    return now;
  }

  async #control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method === 'PUT') {
      const text = Buffer.concat(chunks).toString();
      this.#fault = text === '' ? null : fault.parse(JSON.parse(text));
      this.#seen = [];
    }
    json(response, 200, { seen: this.#seen, open: this.#open });
  }
}

function altered(answer: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => chunks.push(chunk));
  answer.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as object;
    json(response, answer.statusCode ?? 502, { ...body, ...OF_TOMORROW });
  });
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(body));
}

function one(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null;
}
