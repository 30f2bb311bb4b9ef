import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { MayflyClient } from '../../client/mayfly-client.ts';
import { type Door, openDoor } from '../api/support.ts';
import { type RelayedAgent, startRelayedAgent } from './relayed-agent.ts';

/** The API behind a real HTTP server, with one sandbox whose files are those of this machine. */
export interface FileDoor {
  agent: RelayedAgent;
  door: Door;
  server: Server;
  url: string;
  /** May read and write sandboxes. */
  key: string;
  client: MayflyClient;
  /** Of the sandbox. */
  id: string;
  close(): Promise<void>;
}

export async function openFileDoor(): Promise<FileDoor> {
  const agent = await startRelayedAgent();
  const door = await openDoor(agent.guests);
  const server = createAdaptorServer({ fetch: door.app.fetch }) as Server;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = await door.key('sandboxes:read', 'sandboxes:write');
  const client = new MayflyClient({ baseUrl: url, apiKey: key });
  const { id } = await client.createSandbox({ source: 'golden' });
  await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
  return {
    agent,
    door,
    server,
    url,
    key,
    client,
    id,
    async close() {
      server.closeAllConnections();
      server.close();
      await door.close();
      await agent.stop();
    },
  };
}
