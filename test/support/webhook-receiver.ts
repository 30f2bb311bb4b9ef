import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.ts';
import { listen } from './listen.ts';

export interface ReceivedWebhook {
  path: string;
  /** Milliseconds since 1970. */
  at: number;
  headers: Record<string, string>;
  body: string;
}

/** Answers the n-th request of a path, from 1. */
export type Answering = (response: ServerResponse, n: number, request: IncomingMessage) => void;

export const answers = (status: number, headers: Record<string, string> = {}, body = ''): Answering => {
  return (response) => void response.writeHead(status, headers).end(body);
};

export const answersEndlessly: Answering = (response) => {
  const write = () => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536)));
  };
  response.on('drain', write);
  write();
};

export const endsEarly: Answering = (response) => {
  response.writeHead(200, { 'Content-Length': '100' });
  response.write('half', () => response.destroy());
};

export const drips: Answering = (response) => {
  response.writeHead(200).flushHeaders();
  const timer = setInterval(() => response.write('.'), 20);
  response.on('close', () => clearInterval(timer));
};

/** Foreign webhook receiver on the loopback, with an answer per path. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  readonly #answering = new Map<string, Answering>();

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => void this.#take(request, response));
  }

  static async open(server: Server = createServer()): Promise<WebhookReceiver> {
    await listen(server);
    return new WebhookReceiver(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** @param answering `@default` 204 */
  at(path: string, answering: Answering = answers(204)): string {
    this.#answering.set(path, answering);
    return `http://127.0.0.1:${this.port}${path}`;
  }

  to(path: string): ReceivedWebhook[] {
    return this.received.filter((one) => one.path === path);
  }

  /** Waits for this many requests to a path. */
  until(path: string, count: number): Promise<ReceivedWebhook[]> {
    return eventually(
      async () => this.to(path),
      (found) => found.length >= count,
    );
  }

  close(): void {
    this.server.close().closeAllConnections();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const path = request.url ?? '';
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    this.received.push({ path, at: Date.now(), headers, body: Buffer.concat(pieces).toString() });
    (this.#answering.get(path) ?? answers(404))(response, this.to(path).length, request);
  }
}
