import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { allSettledOrThrow } from '../../host/os/abort.ts';
import type { StateDir } from '../../host/state-dir.ts';
import { Closers } from '../../worker/config/closers.ts';
import { startTemporalServer } from '../../worker/servers/temporal-server.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { MayflyProcess, noProcessOf, waitUntilReady } from './mayfly-process.ts';
import { payloadKeyIn } from './payload-key.ts';
import { startStoreServer } from './store-server.ts';

/** Id of its host worker. */
export const HOST_ID = 'served';

const listening = z.object({ url: z.string() });
const made = z.object({ secret: z.string() });

/** Installation with separate processes for API, control worker and host worker, so that each can be killed alone. */
export class ServedMayfly {
  readonly #apiKey: Promise<string>;
  readonly #closers: Closers;
  readonly #env: NodeJS.ProcessEnv;
  readonly #hostEnv: NodeJS.ProcessEnv;
  host: MayflyProcess | null = null;
  api: MayflyProcess | null = null;
  control: MayflyProcess | null = null;

  #client: MayflyClient | null = null;
  /** Environment of the command line. */
  cliEnv: NodeJS.ProcessEnv = {};

  private constructor(
    readonly state: StateDir,
    apiKey: Promise<string>,
    closers: Closers,
    env: NodeJS.ProcessEnv,
    hostEnv: NodeJS.ProcessEnv,
    /** Folder of its store; null for an external one. */
    readonly storeFolder: string | null,
  ) {
    this.#apiKey = apiKey;
    this.#closers = closers;
    this.#env = env;
    this.#hostEnv = hostEnv;
  }

  /** Client of the running or last API. */
  get client(): MayflyClient {
    if (!this.#client) throw new Error('the API has not been started');
    return this.#client;
  }

  get storeUri(): string {
    return this.#env['MONGODB_URI'] ?? '';
  }

  get temporalAddress(): string {
    return this.#env['TEMPORAL_ADDRESS'] ?? '';
  }

  /** @param hostEnv additions for the host worker @param allEnv additions for each process */
  static async start(hostEnv: NodeJS.ProcessEnv, allEnv: NodeJS.ProcessEnv = {}): Promise<ServedMayfly> {
    const closers = new Closers();
    try {
      return await ServedMayfly.#start(hostEnv, allEnv, closers);
    } catch (error) {
      await closers.close();
      throw error;
    }
  }

  static async #start(hostEnv: NodeJS.ProcessEnv, allEnv: NodeJS.ProcessEnv, closers: Closers): Promise<ServedMayfly> {
    const { state, remove } = await temporaryState();
    closers.add('state folder', remove);
    await chmod(state.root, 0o711); // QEMU runs as another user
    closers.add('processes', () => noProcessOf(state.root));
    const [store, temporal] = await allSettledOrThrow(
      startStoreServer().then((server) => {
        closers.add('store', () => server.stop());
        return server;
      }),
      startTemporalServer({ dir: join(state.root, 'temporal') }).then((server) => {
        closers.add('Temporal', () => server.stop());
        return server;
      }),
    );
    const servers = { MONGODB_URI: store.uri, TEMPORAL_ADDRESS: temporal.address };
    const env = { ...servers, ...(await payloadKeyIn(state.root)), MAYFLY_API_PORT: '0', ...allEnv };

    const key = new MayflyProcess(['key', 'create', 'first', '--scope', 'admin', '--local', '--json'], env);
    closers.add('the making of a key', async () => void (await key.end('SIGKILL')));
    const apiKey = key.line('"secret"').then((line) => made.parse(JSON.parse(line)).secret);
    const served = new ServedMayfly(state, apiKey, closers, env, hostEnv, store.folder);
    closers.add('API, control worker and host worker', async () => {
      for (const part of [served.host, served.control, served.api]) await part?.end('SIGKILL');
    });
    await served.startAll();
    return served;
  }

  /**
   * Starts its three processes, which must not run, and waits until they are ready. @param hostEnv as of {@link
   * startHost}
   */
  async startAll(hostEnv: NodeJS.ProcessEnv = {}): Promise<void> {
    const stateDir = join(this.state.root, 'control');
    this.api = new MayflyProcess(['serve', 'api'], { ...this.#env, MAYFLY_STATE_DIR: join(this.state.root, 'api') });
    this.control = new MayflyProcess(['serve', 'control'], { ...this.#env, MAYFLY_STATE_DIR: stateDir });
    this.startHost(hostEnv);
    const [line, apiKey] = await Promise.all([this.api.line('the API listens'), this.#apiKey]);
    const { url } = listening.parse(JSON.parse(line));
    this.#client = new MayflyClient({ baseUrl: url, apiKey });
    this.cliEnv = { MAYFLY_URL: url, MAYFLY_API_KEY: apiKey };
    await waitUntilReady(url);
  }

  /** Starts a host worker on the same machine; the previous one must have ended. @param env additions */
  startHost(env: NodeJS.ProcessEnv = {}): MayflyProcess {
    const where = { MAYFLY_STATE_DIR: join(this.state.root, 'host'), MAYFLY_HOST_ID: HOST_ID };
    this.host = new MayflyProcess(['serve', 'host'], { ...this.#env, ...where, ...this.#hostEnv, ...env });
    return this.host;
  }

  async stop(): Promise<void> {
    await this.#closers.close();
  }
}
