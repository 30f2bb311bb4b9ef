import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { App } from '../../api/http/context.ts';
import { listen } from './listen.ts';

/** API behind a real HTTP server, on a free port of the loopback. */
export interface HttpServer {
  url: string;
  /** Closes the server with its open connections. */
  close(): void;
}

export async function serveHttp(app: App): Promise<HttpServer> {
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  await listen(server);
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
