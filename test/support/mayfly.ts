import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { DefaultLogger, type NativeConnection, Runtime } from '@temporalio/worker';
import { inject } from 'vitest';
import { RequestKey } from '../../ca/signed-request.ts';
import { UserCa } from '../../ca/user-ca.ts';
import { Failpoints } from '../../host/failpoints.ts';
import type { Hypervisor, Mark } from '../../host/hypervisor.ts';
import type { PresentSnapshot } from '../../host/snapshots.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import type { SandboxRecord, SandboxSpec } from '../../model/sandbox/sandbox.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import { AddressPolicy } from '../../services/webhooks/sending/address-policy.ts';
import { connectStore, type Store } from '../../store/connect.ts';
import { ApiTemporalClient } from '../../temporal/temporal-sagas.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { Closers } from '../../worker/config/closers.ts';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { createControlWorker, createDeliveryWorker, type DeliveryWorkerOptions } from '../../worker/control.ts';
import type { HostMachine } from '../../worker/machine/host-machine.ts';
import { createDataConverter, installationKeys, temporalClient } from '../../worker/payloads/data-converter.ts';
import { type RunningWorker, runWorkers } from '../../worker/running-worker.ts';
import { connectTemporal, registerSearchAttributes } from '../../worker/servers/temporal.ts';
import { requestIdOfClient } from '../../worker/tracing/request-id.ts';
import { eventually } from './eventually.ts';
import { InMemoryMachine } from './in-memory-host/machine.ts';
import { registerEmptyNamespace } from './lose-workflow.ts';
import { endOpenRuns, runsThatReplayOtherwise } from './replayed-runs.ts';
import { buildSandboxInput } from './sandbox-input.ts';
import { startStoreServer } from './store-server.ts';
import { type HostPart, startTestHost } from './test-host.ts';
import { HANGS_AFTER_MS } from './test-timeouts.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

/** Kind of a test's host. `in-memory` (test/support/in-memory-host/) is for tests of sagas; no setting offers it. */
export type TestHostKind = 'simulated' | 'in-memory';

/** Product without its HTTP API: control worker, one host worker of that kind, and its own store. */
export class TestMayfly {
  readonly failpoints = Failpoints.parse(undefined);
  sagas: ApiTemporalClient;
  host: HostPart | null = null;
  /** Options for sending webhooks of the next control worker. */
  webhooks: Pick<DeliveryWorkerOptions, 'network' | 'plan'> = {};
  #control: RunningWorker | null = null;
  readonly #began = new Date();

  private constructor(
    readonly store: Store,
    public client: Client,
    readonly config: Config,
    private readonly connection: NativeConnection,
    readonly dataConverter: DataConverter,
    private readonly closers: Closers,
    /** Machine of a host in memory; null: another host. */
    readonly memory: InMemoryMachine | null,
    /** Request key of the API. */
    readonly requestKey: RequestKey,
  ) {
    this.sagas = this.#sagasOf(client);
  }

  static async start(env: NodeJS.ProcessEnv = {}, kind: TestHostKind = 'simulated'): Promise<TestMayfly> {
    const closers = new Closers();
    const root = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'mayfly-'));
    closers.add('state folder', () => rm(root, { recursive: true, force: true }));
    const server = await startStoreServer();
    closers.add('store server', () => server.stop());
    const address = env['TEMPORAL_ADDRESS'] ?? inject('temporalAddress');
    const servers = { MONGODB_URI: server.uri, TEMPORAL_ADDRESS: address };
    const host = { MAYFLY_HOST: 'simulated', MAYFLY_HOST_ID: 'test', MAYFLY_STATE_DIR: root };
    const config = readConfig({ ...host, ...servers, ...env });
    const connection = await connectTemporal(address);
    closers.add('temporal', () => connection.close());
    await registerSearchAttributes(connection, 'default');
    const keys = await installationKeys(config, true);
    const store = await connectStore(server.uri, { auditKey: randomBytes(32), keys, isProcess: true });
    closers.add('store', () => store.close());
    const requestKey = await RequestKey.open(join(root, 'api'));
    await store.signers.addApi(requestKey.publicKey);
    const dataConverter = createDataConverter(keys);
    const memory = kind === 'in-memory' ? new InMemoryMachine() : null;
    const interceptors = { workflow: [requestIdOfClient()] };
    const client = temporalClient({ connection, dataConverter, interceptors });
    const mayfly = new TestMayfly(store, client, config, connection, dataConverter, closers, memory, requestKey);
    closers.add('open runs', () => endOpenRuns(mayfly.client, connection));
    closers.add('control worker', async () => mayfly.#control?.stop());
    await mayfly.startControl();
    await mayfly.startHost();
    return mayfly;
  }

  /** Returns its divergent runs by {@link runsThatReplayOtherwise}. */
  runsThatReplayOtherwise(): Promise<string[]> {
    return runsThatReplayOtherwise(this.client, this.dataConverter, this.#began);
  }

  /** Starts the control worker; restarts a running one. */
  async startControl(): Promise<void> {
    await this.#control?.stop();
    const { connection, dataConverter, store, failpoints, config } = this;
    const ca = await UserCa.open(join(config.stateDir, 'control', 'ca'));
    const workflowBundle = await bundleWorkflows(new DefaultLogger('ERROR'));
    const { namespace } = this.client.options;
    const options = { connection, namespace, dataConverter, store, failpoints };
    const network = { policy: new AddressPolicy(config.webhookAllow) };
    this.#control = runWorkers([
      await createControlWorker({ ...options, ca, workflowBundle }),
      await createDeliveryWorker({ ...options, network, ...this.webhooks }),
    ]);
  }

  /** Stops the control worker until {@link startControl}. */
  async stopControl(): Promise<void> {
    await this.#control?.stop();
    this.#control = null;
  }

  /** Continues in an empty namespace, as after the loss of Temporal's database. */
  async loseTemporal(): Promise<void> {
    await this.host?.stop();
    await this.stopControl();
    const { connection, dataConverter } = this;
    const namespace = await registerEmptyNamespace(connection);
    this.client = temporalClient({ connection, dataConverter, namespace });
    this.sagas = this.#sagasOf(this.client);
    await this.startControl();
    await this.startHost();
  }

  /**
   * Creates the sagas of the API, with a longer timeout: on a busy machine a hundred concurrent calls may exceed that
   * of a call.
   */
  #sagasOf(client: Client): ApiTemporalClient {
    return new ApiTemporalClient(client, {
      signer: this.requestKey.signer({ process: 'api' }),
      callMs: HANGS_AFTER_MS,
    });
  }

  /** Changes the hypervisor of each new host worker, before it takes any task. */
  prepareHost: (hypervisor: Hypervisor) => void = () => {};

  /** Starts the host worker, also after {@link HostPart.stop}. @param bootIdFile file with the boot id to use */
  async startHost(bootIdFile?: string): Promise<HostPart> {
    const { connection, dataConverter, store, failpoints, config, client, memory } = this;
    const where = { config, memory, prepare: this.prepareHost, ...(bootIdFile !== undefined && { bootIdFile }) };
    const running = await startTestHost({ connection, dataConverter, store, failpoints, client, ...where });
    const stop = async () => {
      this.host = null;
      await running.stop();
    };
    this.host = { ...running, stop };
    return this.host;
  }

  /** Starts another host worker, on a machine in memory. Its dependencies stay until everything is stopped. */
  async startOtherHost(changes: Pick<Config, 'hostId' | 'stateDir'>, memory: InMemoryMachine): Promise<HostPart> {
    const { connection, dataConverter, store, failpoints, client } = this;
    const config = { ...this.config, ...changes };
    return startTestHost({ connection, dataConverter, store, failpoints, config, client, memory });
  }

  input(spec: Partial<SandboxSpec> = {}, timeouts: Partial<Timeouts> = {}): SandboxInput {
    return buildSandboxInput(spec, timeouts);
  }

  /** Starts a create, and waits until it runs or has ended. */
  async create(input = this.input()): Promise<SandboxRecord> {
    await this.sagas.sandboxes.create(input);
    await this.sagas.sandboxes.settled(input.id, AbortSignal.timeout(HANGS_AFTER_MS));
    return this.record(input.id);
  }

  async destroy(input: SandboxInput): Promise<SandboxRecord> {
    await this.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
    return this.end(input.id);
  }

  /** Waits for the proof. */
  async end(id: string): Promise<SandboxRecord> {
    await this.sagas.sandboxes.ended(id, AbortSignal.timeout(HANGS_AFTER_MS));
    return this.record(id);
  }

  async record(id: string): Promise<SandboxRecord> {
    const record = await this.store.sandboxes.get(id);
    if (!record) throw new Error(`the store has no record of ${id}`);
    return record;
  }

  /** Returns the record once it satisfies `wish`. */
  async until(id: string, wish: (record: SandboxRecord) => boolean): Promise<SandboxRecord> {
    return eventually(
      () => this.store.sandboxes.get(id),
      (record): record is SandboxRecord => record !== null && wish(record),
    );
  }

  onHost(): Promise<PresentSnapshot[]> {
    return this.machine().hypervisor.snapshots.list();
  }

  /** @throws Error when its host worker is stopped */
  machine(): HostMachine {
    if (!this.host) throw new Error('there is no host to look at');
    return this.host.machine;
  }

  /** Returns the residue of every sandbox on the machine. */
  async marks(): Promise<Mark[]> {
    const { hypervisor, credentials, ledger } = this.machine();
    return (await Promise.all([hypervisor.marks(), credentials.marks(), ledger.marks()])).flat();
  }

  /** Returns the residue on the machine: none, when no sandbox is alive. */
  async residue(): Promise<Observation[]> {
    return (await this.marks()).map(({ observation }) => observation);
  }

  async stop(): Promise<void> {
    await this.host?.stop();
    await this.closers.close();
  }
}
