import type { Server } from 'node:http';
import { pino } from 'pino';
import { apiServer } from '../../api/server/api-server.ts';
import { runCli } from '../../cli/main.ts';
import { Io } from '../../cli/terminal/io.ts';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { type Door, openDoor } from '../api/support.ts';
import { listen } from '../support/listen.ts';
import { type RelayedAgent, startRelayedAgent } from '../support/relayed-agent.ts';

/** Served API, with one sandbox whose loopback is this machine's. */
export class PortDoor {
  private constructor(
    readonly agent: RelayedAgent,
    readonly door: Door,
    private readonly server: Server,
    readonly url: string,
    readonly key: string,
    readonly client: MayflyClient,
    readonly id: string,
  ) {}

  static async open(): Promise<PortDoor> {
    const agent = await startRelayedAgent();
    const door = await openDoor(agent.guests);
    const server = apiServer(door.app, pino({ level: 'silent' }), { bodyMs: 500 });
    const url = `http://127.0.0.1:${await listen(server)}`;
    const key = await door.key('sandboxes:read', 'sandboxes:write');
    const client = new MayflyClient({ baseUrl: url, apiKey: key });
    const { id } = await client.createSandbox({ source: 'golden' });
    await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
    return new PortDoor(agent, door, server, url, key, client, id);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await this.door.close();
    await this.agent.stop();
  }

  /** Runs `mayfly port forward` in this process. */
  async forward(remote: number, more: { id?: string } = {}): Promise<Forwarded> {
    return forwarded({ MAYFLY_URL: this.url, MAYFLY_API_KEY: this.key }, more.id ?? this.id, remote);
  }
}

export interface Forwarded {
  port: number;
  /** Returns its standard error. */
  err(): string;
  code: Promise<number>;
  end(): Promise<number>;
}

export async function forwarded(env: NodeJS.ProcessEnv, id: string, remote: number): Promise<Forwarded> {
  const controller = new AbortController();
  let told = (_line: string) => {};
  const line = new Promise<string>((resolve) => (told = resolve));
  const stdout = { write: (text: string | Uint8Array) => told(Buffer.from(text as Uint8Array).toString()) };
  const said: Buffer[] = [];
  const stderr = { write: (text: string | Uint8Array) => void said.push(Buffer.from(text as Uint8Array)) };
  const err = () => Buffer.concat(said).toString();
  const { signal } = controller;
  const io = new Io({ stdout, stderr, env, signal, force: new AbortController().signal });
  const code = runCli(['port', 'forward', id, `0:${remote}`, '--json'], io);
  const first = await Promise.race([line, code]);
  if (typeof first === 'number') throw new Error(`mayfly port forward ended with ${first}: ${err()}`);
  const { localPort } = JSON.parse(first) as { localPort: number };
  const end = () => {
    controller.abort(new Error('Ctrl-C'));
    return code;
  };
  return { port: localPort, err, code, end };
}
