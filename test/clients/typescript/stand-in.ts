import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { closeServer, listen } from '../../support/listen.ts';

export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Fake HTTP server on loopback that answers as a test sets, and records its requests. */
export class StandIn {
  readonly seen: Seen[] = [];
  readonly #server: Server;
  #answer: (request: Seen, response: ServerResponse, count: number) => void = () => {};

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<StandIn> {
    const standIn = new StandIn();
    await standIn.listen();
    return standIn;
  }

  async listen(): Promise<void> {
    await listen(this.#server);
  }

  get url(): string {
    const address = this.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the stand-in does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  /** Sets the answer. @param answer gets the request, the open response, and the number of previous requests */
  answers(answer: (request: Seen, response: ServerResponse, count: number) => void): void {
    this.seen.length = 0;
    this.#answer = answer;
  }

  async stop(): Promise<void> {
    await closeServer(this.#server);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const seen = { method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') };
    this.seen.push(seen);
    this.#answer(seen, response, this.seen.length - 1);
  }
}

/** Serves the tests of a file; its URL is set from the next `beforeAll` on. */
export function useStandIn(): StandIn {
  const server = new StandIn();
  beforeAll(() => server.listen());
  afterAll(() => server.stop());
  return server;
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(body));
}
