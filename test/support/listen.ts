import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Starts a server on a free port. @returns the port */
export async function listen(server: Server, address = '127.0.0.1'): Promise<number> {
  server.listen(0, address);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function closeServer(server: HttpServer): Promise<void> {
  const closed = once(server, 'close');
  server.close().closeAllConnections();
  await closed;
}
