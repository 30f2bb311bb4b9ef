import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach } from 'vitest';
import { listen } from '../support/listen.ts';
import { useOpened } from '../support/use-opened.ts';
import { IngressDoor } from './ingress-door.ts';

type Serve = (...given: Parameters<RequestListener>) => unknown;

/** Request as {@link Programs.mirror} returns it. */
export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** HTTP servers behind a door, which end with the test. */
export class Programs {
  readonly #servers: Server[] = [];

  /** Listens. @returns the port */
  async listen(server: Server, address = '127.0.0.1'): Promise<number> {
    this.#servers.push(server);
    return listen(server, address);
  }

  serve(serve: Serve, address?: string): Promise<number> {
    const server = createServer({ maxHeaderSize: 65_536 }, (incoming, answer) => void serve(incoming, answer));
    return this.listen(server, address);
  }

  /** Starts a server that returns the request. */
  mirror(): Promise<number> {
    return this.serve(async (incoming, answer) => {
      const { method, url, headers } = incoming;
      answer.end(JSON.stringify({ method, url, headers, body: await text(incoming) }));
    });
  }

  end(): void {
    for (const server of this.#servers.splice(0)) server.close().closeAllConnections();
  }
}

/**
 * Starts programs with their own door; they end after each test, as do its open ports. @param take receives the door
 * first
 */
export function usePrograms(take: (door: IngressDoor) => void): Programs {
  const programs = new Programs();
  const door = useOpened(
    async () => {
      const opened = await IngressDoor.open();
      take(opened);
      return opened;
    },
    (opened) => opened.close(),
  );
  afterEach(async () => {
    const { ports } = door();
    await ports.door.store.exposedPorts.closeAll(ports.id);
    programs.end();
  });
  return programs;
}
