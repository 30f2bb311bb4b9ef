import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { storeBinary } from '../../worker/config/artifacts.mjs';
import { startTemporalServer } from '../../worker/servers/temporal-server.ts';
import { FORGETS_AT_ONCE } from '../support/lose-workflow.ts';
import { MayflyProcess } from '../support/mayfly-process.ts';
import { payloadKeyIn } from '../support/payload-key.ts';
import { Part, type Running } from './part.ts';

/** Ports of every installation: each has its own network namespace. */
export const PORTS = { temporal: 7233, store: 27_017, api: 7999, otherApi: 7998, ingress: 7997 } as const;
/** Timeout of the start, ms; enough for a busy machine. */
const READY_MS = 180_000;
const made = z.object({ secret: z.string() });
/** Kept output of a process for a report, characters. */
const TOLD = 4_000;

export type PartName = 'host' | 'control' | 'api' | 'temporal' | 'store';

export interface InstallationOptions {
  /** Empty folder for all files. */
  root: string;
  hostKind: 'simulated' | 'libvirt';
  /** Additional environment of all of Mayfly's processes. */
  env?: NodeJS.ProcessEnv;
  /** Number of host workers, each with its own state folder. `@default` 1 */
  hosts?: number;
  /** `bin/mayfly` of the initial version. `@default` this one's */
  program?: string;
}

/** Installation of separate processes, each of which can be killed, stopped, restarted and replaced alone. */
export class CrashInstallation {
  readonly parts: Record<PartName, Part>;
  /** Host workers; the first is `parts.host`. */
  readonly hosts: readonly Part[];
  readonly #env: NodeJS.ProcessEnv;
  readonly failpointsFile: string;
  /** Program of processes started from now on. */
  program: string | undefined;
  #client: MayflyClient | null = null;

  constructor(readonly options: InstallationOptions) {
    const { root, hosts = 1 } = options;
    this.program = options.program;
    this.failpointsFile = join(root, 'failpoints');
    this.#env = {
      MONGODB_URI: this.storeUri,
      TEMPORAL_ADDRESS: this.temporalAddress,
      MAYFLY_PAYLOAD_KEY_FILE: join(root, 'payload.key'),
      MAYFLY_LOG_LEVEL: 'warn',
      MAYFLY_FAILPOINTS: `@${this.failpointsFile}`,
      MAYFLY_ORPHAN_GRACE_SECONDS: '2',
      ...options.env,
    };
    this.hosts = Array.from({ length: hosts }, (_, nth) => this.#host(nth));
    const [host] = this.hosts;
    if (!host) throw new RangeError('an installation has at least one host');
    this.parts = {
      host,
      control: this.#ours('control', { MAYFLY_STATE_DIR: join(root, 'control') }),
      api: this.#ours('api', { MAYFLY_STATE_DIR: join(root, 'api'), MAYFLY_API_PORT: String(PORTS.api) }),
      temporal: new Part('temporal', () => this.#temporal()),
      store: new Part('store', () => this.#store()),
    };
  }

  get storeUri(): string {
    return `mongodb://127.0.0.1:${PORTS.store}/mayfly`;
  }
  get temporalAddress(): string {
    return `127.0.0.1:${PORTS.temporal}`;
  }
  get apiUrl(): string {
    return `http://127.0.0.1:${PORTS.api}`;
  }
  hostDir(nth = 0): string {
    return join(this.options.root, nth === 0 ? 'host' : `host-${nth}`);
  }
  hostId(nth = 0): string {
    return nth === 0 ? 'crash' : `crash-${nth}`;
  }
  get client(): MayflyClient {
    if (!this.#client) throw new Error('the installation has not been started');
    return this.#client;
  }
  get all(): Part[] {
    return [...new Set([...Object.values(this.parts), ...this.hosts])];
  }

  /** Starts everything, and returns when a sandbox can be created. */
  async start(): Promise<void> {
    const { root } = this.options;
    await mkdir(root, { recursive: true });
    await chmod(root, 0o711); // QEMU runs as another user
    await mkdir(join(root, 'store'), { recursive: true, mode: 0o700 });
    await payloadKeyIn(root);
    await this.arm('');
    for (const part of this.all) part.up();
    await this.#key();
    await this.ready();
  }

  /** Sets the faults of all workers, including running ones. */
  async arm(points: string): Promise<void> {
    await writeFile(`${this.failpointsFile}.new`, points);
    await rename(`${this.failpointsFile}.new`, this.failpointsFile);
  }

  /** Resolves when the API, its servers and a host are ready; polls every 50 ms. */
  async ready(): Promise<void> {
    for (const deadline = Date.now() + READY_MS; ; await sleep(50)) {
      const answer = await fetch(`${this.apiUrl}/readyz`).catch(() => null);
      if (answer?.ok) return;
      if (Date.now() > deadline) throw new Error(`never ready again: ${await answer?.text()}\n${this.told()}`);
    }
  }

  /** Ends all its processes, but no machine. */
  async stop(): Promise<void> {
    const { temporal, store, ...ours } = this.parts;
    await Promise.all([...new Set([...Object.values(ours), ...this.hosts])].map((part) => part.end()));
    await Promise.all([temporal.end(), store.end()]);
  }

  /** Returns the last output of each process. */
  told(): string {
    return this.all.map((part) => `== ${part.name}\n${part.said}`).join('\n');
  }

  #host(nth: number): Part {
    const own = { MAYFLY_STATE_DIR: this.hostDir(nth), MAYFLY_HOST_ID: this.hostId(nth) };
    const { hostKind } = this.options;
    const libvirt = hostKind === 'libvirt' ? { MAYFLY_LIBVIRT_URI: 'private' } : {};
    return this.#ours('host', { ...own, MAYFLY_HOST: hostKind, ...libvirt }, nth === 0 ? 'host' : `host-${nth}`);
  }

  #ours(which: 'host' | 'control' | 'api', env: NodeJS.ProcessEnv, name: string = which): Part {
    return new Part(name, async () => ours(['serve', which], { ...this.#env, ...env }, this.program));
  }

  async #temporal(): Promise<Running> {
    const dir = join(this.options.root, 'temporal');
    const server = await startTemporalServer({ dir, port: PORTS.temporal, limits: FORGETS_AT_ONCE });
    return { pid: server.pid, ended: server.died, said: () => 'see temporal/temporal.log' };
  }

  async #store(): Promise<Running> {
    const binary = storeBinary();
    if (!binary) throw new Error('there is no store: run `npm run setup`');
    const folder = join(this.options.root, 'store');
    const where =
      binary.kind === 'mongod'
        ? ['--bind_ip', '127.0.0.1', '--port', String(PORTS.store), '--dbpath', folder]
        : ['--listen', `127.0.0.1:${PORTS.store}`, '--dir', folder];
    const argv = ['--pdeathsig', 'KILL', '--', binary.path, ...where];
    const child = spawn('setpriv', argv, { stdio: ['ignore', 'ignore', 'ignore'] });
    await once(child, 'spawn');
    return { pid: child.pid ?? -1, ended: once(child, 'exit'), said: () => 'it says nothing' };
  }

  /** Creates the first key; retries until the store is ready. */
  async #key(): Promise<void> {
    const args = ['key', 'create', 'first', '--scope', 'admin', '--local', '--json'];
    for (const deadline = Date.now() + READY_MS; ; await sleep(300)) {
      const key = new MayflyProcess(args, { ...this.#env, MAYFLY_FAILPOINTS: '' }, this.program);
      try {
        const { secret } = made.parse(JSON.parse(await key.line('"secret"')));
        await key.end();
        this.#client = new MayflyClient({ baseUrl: this.apiUrl, apiKey: secret });
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  }
}

function ours(args: string[], env: NodeJS.ProcessEnv, program?: string): Running {
  const running = new MayflyProcess(args, env, program);
  return { pid: running.pid, ended: running.end(), said: () => running.output.slice(-TOLD) };
}
