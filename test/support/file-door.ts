import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { type Door, openDoor } from '../api/support.ts';
import { serveHttp } from './http-server.ts';
import { type RelayedAgent, startRelayedAgent } from './relayed-agent.ts';

/** API behind a real HTTP server, with one sandbox whose files are this machine's. */
export interface FileDoor {
  agent: RelayedAgent;
  door: Door;
  url: string;
  /** Key that may read and write sandboxes. */
  key: string;
  client: MayflyClient;
  id: string;
  close(): Promise<void>;
}

export async function openFileDoor(): Promise<FileDoor> {
  const agent = await startRelayedAgent();
  const door = await openDoor(agent.guests);
  const http = await serveHttp(door.app);
  const key = await door.key('sandboxes:read', 'sandboxes:write');
  const client = new MayflyClient({ baseUrl: http.url, apiKey: key });
  const { id } = await client.createSandbox({ source: 'golden' });
  await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
  return {
    agent,
    door,
    url: http.url,
    key,
    client,
    id,
    async close() {
      http.close();
      await door.close();
      await agent.stop();
    },
  };
}
