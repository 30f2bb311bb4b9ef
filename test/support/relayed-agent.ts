import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import type { ClientChannel } from 'ssh2';
import { AgentSession } from '../../host/guest/agent-session.ts';
import type { GuestConnections } from '../../host/guest/connections.ts';
import { RelayClient } from '../../host/relay/client.ts';
import { portsRoute } from '../../host/relay/ports.ts';
import { sandboxAgentRoute } from '../../host/relay/sandbox-agent.ts';
import { startRelay } from '../../host/relay/server.ts';
import { CertClient } from '../../host/ssh/cert-client.ts';
import { agentFolder } from './agent-folder.ts';

/** Real agent on this machine, with a real relay: the whole path to a guest except SSH. */
export interface RelayedAgent {
  guests: RelayClient;
  agent: ChildProcess;
  stop(): Promise<void>;
}

export async function startRelayedAgent(): Promise<RelayedAgent> {
  const folder = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'agent-'));
  const socket = join(folder, 'agent.sock');
  const program = join(agentFolder(), 'mayfly-agent');
  const args = ['serve', '--ready', '--socket', socket, '--state', join(folder, 'state'), '--user', 'nobody'];
  const agent = spawn(program, [...args, '--cgroup', ''], { stdio: ['ignore', 'inherit', 'inherit', 'pipe'] });
  const said = await text(agent.stdio[3] as Readable);
  if (said !== 'ready') throw new Error(`the agent does not start: ${said}`);
  let session: AgentSession | null = null;
  const connected = async () => {
    if (session && !session.closed) return session;
    const unix = connect(socket);
    const channel = Object.assign(unix, { close: () => unix.destroy() }) as unknown as ClientChannel;
    session = await AgentSession.open(new CertClient(), { channel, complaint: () => 'none' });
    return session;
  };
  const connections = { agent: connected } as unknown as GuestConnections;
  const routes = { sandboxes: sandboxAgentRoute(connections), ports: portsRoute(connections) };
  const relay = await startRelay({ address: '127.0.0.1', port: 0, routes, logger: pino({ level: 'silent' }) });
  const address = { url: relay.url, key: relay.key.toString('hex') };
  const guests = new RelayClient({ relays: { get: async () => address }, hosts: { get: async () => null } } as never);
  return {
    guests,
    agent,
    async stop() {
      guests.close();
      await relay.close();
      session?.close();
      const gone = once(agent, 'exit');
      agent.kill('SIGTERM');
      await gone;
      await rm(folder, { recursive: true });
    },
  };
}
