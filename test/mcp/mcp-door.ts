import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import type { AppDeps } from '../../api/http/context.ts';
import { apiServer } from '../../api/server/api-server.ts';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { RelayClient } from '../../host/relay/client.ts';
import { TestMayfly } from '../support/mayfly.ts';

/** API on a port, with a simulated host; several instances act as several processes. */
export class McpDoor {
  #server: Server | null = null;
  url = '';

  private constructor(
    readonly mayfly: TestMayfly,
    readonly apiKey: string,
    private readonly guests: RelayClient,
    private readonly more: Partial<AppDeps>,
    private readonly isFirst: boolean,
  ) {}

  static async open(more: Partial<AppDeps> = {}): Promise<McpDoor> {
    const mayfly = await TestMayfly.start();
    const { secret } = await mayfly.store.apiKeys.create({ project: 'default', name: 'mcp', scopes: ['admin'] });
    const door = new McpDoor(mayfly, secret, new RelayClient(mayfly.store), more, true);
    await door.start();
    return door;
  }

  /** Restarts the API with empty memory, like a new process. */
  async restart(): Promise<void> {
    await this.#stop();
    await this.start();
  }

  /** Starts a second process on the same store. */
  async another(): Promise<McpDoor> {
    const other = new McpDoor(this.mayfly, this.apiKey, this.guests, this.more, false);
    await other.start();
    return other;
  }

  async start(): Promise<void> {
    const { store, sagas } = this.mayfly;
    const logger = pino({ level: process.env['MAYFLY_LOG_LEVEL'] ?? 'silent' });
    const app = createApp({ store, sagas, guests: this.guests, version: '0.0.0', logger, ...this.more });
    this.#server = apiServer(app, logger);
    const port = this.url === '' ? 0 : Number(new URL(this.url).port);
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends this process; the first one also ends the shared parts. */
  async close(): Promise<void> {
    if (this.isFirst) await this.#destroyAll();
    await this.#stop();
    if (!this.isFirst) return;
    this.guests.close();
    await this.mayfly.stop();
  }

  async #destroyAll(): Promise<void> {
    const client = new MayflyClient({ baseUrl: this.url, apiKey: this.apiKey });
    const { items } = await client.listSandboxes({ alive: true });
    await Promise.all(items.map(({ id }) => client.destroySandbox(id)));
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    this.#server = null;
  }
}
