import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, type NativeConnection, Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { StorageRoom } from '../../activities/storage-room.ts';
import { TemporalSagas } from '../../api/temporal-sagas.ts';
import { UserCa } from '../../ca/user-ca.ts';
import { Failpoints } from '../../host/failpoints.ts';
import { ID_BYTES, sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/messages.ts';
import type { Observation } from '../../model/proof.ts';
import { workflowIdOf } from '../../model/queues.ts';
import type { SandboxRecord, SandboxSpec } from '../../model/sandbox.ts';
import type { Timeouts } from '../../model/timeouts.ts';
import { connectStore, type Store } from '../../store/connect.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { Closers } from '../../worker/closers.ts';
import { type Config, readConfig } from '../../worker/config.ts';
import { createControlWorker } from '../../worker/control.ts';
import { createHostWorker } from '../../worker/host.ts';
import { HostDescription } from '../../worker/host-description.ts';
import { HostGuests } from '../../worker/host-guests.ts';
import { type HostMachine, openHostMachine } from '../../worker/host-machine.ts';
import { type RunningWorker, runWorker } from '../../worker/running-worker.ts';
import { connectTemporal, registerSearchAttributes } from '../../worker/temporal.ts';
import { startStoreServer } from './store-server.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

/** Short enough for tests, long enough for two busy cores. */
export const TEST_TIMEOUTS: Timeouts = {
  hostDownMs: 2_000,
  heartbeatMs: 2_000,
  reserveMs: 3_000,
  cloneDiskMs: 3_000,
  bootDomainMs: 5_000,
  awaitIpMs: 5_000,
  verifySshMs: 8_000,
  saveSnapshotMs: 5_000,
  verifySnapshotMs: 5_000,
  revertDiskMs: 5_000,
  flattenMs: 10_000,
  pauseMs: 3_000,
  hibernateMs: 5_000,
  cleanupMs: 10_000,
  shownAfterMs: 50,
  cleanupPauseMs: 200,
};

export interface HostPart {
  machine: HostMachine;
  guests: HostGuests;
  stop(): Promise<void>;
}

/** The product without its HTTP door: control worker, one host worker on a simulated host, a store of its own. */
export class TestMayfly {
  readonly failpoints = Failpoints.parse(undefined);
  readonly sagas: TemporalSagas;
  host: HostPart | null = null;
  #control: RunningWorker | null = null;

  private constructor(
    readonly store: Store,
    readonly client: Client,
    readonly config: Config,
    private readonly connection: NativeConnection,
    private readonly closers: Closers,
  ) {
    this.sagas = new TemporalSagas(client);
  }

  static async start(env: NodeJS.ProcessEnv = {}): Promise<TestMayfly> {
    const closers = new Closers();
    const root = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'mayfly-'));
    closers.add('state folder', () => rm(root, { recursive: true, force: true }));
    const server = await startStoreServer();
    closers.add('store server', () => server.stop());
    const store = await connectStore(server.uri, { auditKey: randomBytes(32) });
    closers.add('store', () => store.close());
    const address = inject('temporalAddress');
    const servers = { MONGODB_URI: server.uri, TEMPORAL_ADDRESS: address };
    const host = { MAYFLY_HOST: 'simulated', MAYFLY_HOST_ID: 'test', MAYFLY_STATE_DIR: root };
    const config = readConfig({ ...host, ...servers, ...env });
    const connection = await connectTemporal(address);
    closers.add('temporal', () => connection.close());
    await registerSearchAttributes(connection, 'default');
    const mayfly = new TestMayfly(store, new Client({ connection }), config, connection, closers);
    closers.add('control worker', async () => mayfly.#control?.stop());
    await mayfly.startControl();
    await mayfly.startHost();
    return mayfly;
  }

  /** Starts the control worker; again when one runs, as after a restart of its process. */
  async startControl(): Promise<void> {
    await this.#control?.stop();
    const { connection, store, failpoints, config } = this;
    const ca = await UserCa.open(join(config.stateDir, 'control', 'ca'));
    const workflowBundle = await bundleWorkflows(new DefaultLogger('ERROR'));
    const options = { connection, namespace: 'default', store, ca, failpoints, workflowBundle };
    this.#control = runWorker(await createControlWorker(options));
  }

  /** Starts the host worker; after {@link HostPart.stop} it can be started again on the same machine. */
  async startHost(): Promise<HostPart> {
    const { connection, store, failpoints, config, client } = this;
    const machine = await openHostMachine(config, failpoints);
    const { hypervisor, ledger } = machine;
    const logger = pino({ level: 'silent' });
    const guests = new HostGuests({ config, machine, store, client, logger });
    const room = new StorageRoom({ hypervisor, store });
    const options = { connection, namespace: 'default', hostId: config.hostId, failpoints, ...machine, room };
    const { attendances } = guests;
    const worker = runWorker(await createHostWorker({ ...options, guests: guests.guests, attendances }));
    await guests.open();
    const description = new HostDescription({ hostId: config.hostId, hypervisor, ledger, store, logger });
    await description.start();
    this.host = {
      machine,
      guests,
      stop: async () => {
        this.host = null;
        await description.stop();
        const letGo = guests.attendances.stop();
        await worker.stop();
        await letGo;
        await guests.close();
        await machine.close();
      },
    };
    return this.host;
  }

  input(spec: Partial<SandboxSpec> = {}, timeouts: Partial<Timeouts> = {}): SandboxInput {
    return {
      id: sandboxIdFrom(randomBytes(ID_BYTES)),
      spec: {
        source: 'golden-debian12',
        snapshotId: null,
        cpus: null,
        memoryMib: 64,
        ttlSeconds: 600,
        idleSeconds: null,
        autoResume: false,
        metadata: {},
        agentId: null,
        network: { egress: 'none' },
        ...spec,
      },
      createdBy: { apiKeyId: 'test', agentId: null },
      requestedAt: new Date().toISOString(),
      begin: 'create',
      timeouts: { ...TEST_TIMEOUTS, ...timeouts },
    };
  }

  /** Starts a create and waits until it is running or at its end. */
  async create(input = this.input()): Promise<SandboxRecord> {
    await this.sagas.create(input);
    await this.sagas.settled(input.id, AbortSignal.timeout(60_000));
    return this.record(input.id);
  }

  async destroy(input: SandboxInput): Promise<SandboxRecord> {
    await this.sagas.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
    return this.end(input.id);
  }

  /** Waits for the proof. */
  async end(id: string): Promise<SandboxRecord> {
    await this.sagas.ended(id, AbortSignal.timeout(60_000));
    return this.record(id);
  }

  async record(id: string): Promise<SandboxRecord> {
    const record = await this.store.sandboxes.get(id);
    if (!record) throw new Error(`the store has no record of ${id}`);
    return record;
  }

  /** The record, as soon as it satisfies `wish`. The store notifies nobody, so this looks every 20 ms. */
  async until(id: string, wish: (record: SandboxRecord) => boolean): Promise<SandboxRecord> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const record = await this.store.sandboxes.get(id);
      if (record && wish(record)) return record;
      if (Date.now() > deadline) throw new Error(`${id} never came so far: ${JSON.stringify(record)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Keeps a life for the replay tests, when MAYFLY_RECORD_HISTORIES is set. */
  async keepHistory(name: string, id: string, workflowId = workflowIdOf(id)): Promise<void> {
    if (!process.env['MAYFLY_RECORD_HISTORIES']) return;
    const history = await this.client.workflow.getHandle(workflowId).fetchHistory();
    await writeFile(
      fileURLToPath(new URL(`../histories/${name}.json`, import.meta.url)),
      historyToJSON(history).replace(/"stackTrace": "(?:[^"\\]|\\.)*"/g, '"stackTrace": ""'),
    );
  }

  /** What is on the machine under any sandbox's name: nothing, when no sandbox is alive. */
  async residue(): Promise<Observation[]> {
    if (!this.host) throw new Error('there is no host to look at');
    const { hypervisor, credentials, ledger } = this.host.machine;
    const marks = await Promise.all([hypervisor.marks(), credentials.marks(), ledger.marks()]);
    return marks.flat().map((mark) => mark.observation);
  }

  async stop(): Promise<void> {
    await this.host?.stop();
    await this.closers.close();
  }
}

/**
 * One Mayfly for the tests of a file. After each test every fault is lifted, every sandbox ended, and the test fails
 * when anything carries a sandbox's name.
 */
export function useMayfly(env: () => NodeJS.ProcessEnv = () => ({})): () => TestMayfly {
  let mayfly: TestMayfly | undefined;
  const running = () => {
    if (!mayfly) throw new Error('Mayfly has not been started');
    return mayfly;
  };
  beforeAll(async () => {
    mayfly = await TestMayfly.start(env());
  });
  afterAll(() => mayfly?.stop());
  afterEach(async () => {
    const { failpoints, host, store } = running();
    failpoints.arm(undefined);
    if (!host) await running().startHost();
    for (const { id } of await store.sandboxes.all([
      'requested',
      'creating',
      'running',
      'paused',
      'hibernated',
      'restoring',
      'destroying',
    ])) {
      await running().destroy({ ...running().input(), id });
    }
    expect(await running().residue()).toEqual([]);
  });
  return running;
}
