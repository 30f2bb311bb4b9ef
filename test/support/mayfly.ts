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
import type { KeptSnapshot } from '../../host/snapshots.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import type { SandboxRecord, SandboxSpec } from '../../model/sandbox/sandbox.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import { AddressPolicy } from '../../services/webhooks/sending/address-policy.ts';
import { connectStore, type Store } from '../../store/connect.ts';
import { TemporalSagas } from '../../temporal/temporal-sagas.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { Closers } from '../../worker/config/closers.ts';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { createControlWorker, createDeliveryWorker, type DeliveryWorkerOptions } from '../../worker/control.ts';
import type { HostMachine } from '../../worker/machine/host-machine.ts';
import { dataConverterOf, installationKeys, temporalClient } from '../../worker/payloads/data-converter.ts';
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

/** `in-memory`: test/support/in-memory-host/, for tests of what sagas do; no setting offers it. */
export type TestHostKind = 'simulated' | 'in-memory';

/** The product without its HTTP door: control worker, one host worker on a host of that kind, a store of its own. */
export class TestMayfly {
  readonly failpoints = Failpoints.parse(undefined);
  sagas: TemporalSagas;
  host: HostPart | null = null;
  /** How webhooks are sent by the control worker that is started next. */
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
    /** The machine of a host in memory; null: the host is another. */
    readonly memory: InMemoryMachine | null,
    /** The API's. */
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
    const dataConverter = dataConverterOf(keys);
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

  /** Of its runs, see {@link runsThatReplayOtherwise}. */
  runsThatReplayOtherwise(): Promise<string[]> {
    return runsThatReplayOtherwise(this.client, this.dataConverter, this.#began);
  }

  /** Starts the control worker; again when one runs, as after a restart of its process. */
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

  /** Until {@link startControl}. */
  async stopControl(): Promise<void> {
    await this.#control?.stop();
    this.#control = null;
  }

  /** Goes on as if Temporal's database had been lost: in a namespace in which nothing has happened yet. */
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

  /** The API's, but that a busy machine has its time: a hundred calls at once may take longer than a call has. */
  #sagasOf(client: Client): TemporalSagas {
    return new TemporalSagas(client, { signer: this.requestKey.signer({ process: 'api' }), callMs: HANGS_AFTER_MS });
  }

  /** Changes the hypervisor of each host worker that starts, before it takes any task. */
  prepareHost: (hypervisor: Hypervisor) => void = () => {};

  /** Starts the host worker, again after {@link HostPart.stop}. @param bootIdFile of the boot it is to find */
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

  /** Starts another host worker, on a machine in memory. What it needs stays until all is stopped. */
  async startOtherHost(changes: Pick<Config, 'hostId' | 'stateDir'>, memory: InMemoryMachine): Promise<HostPart> {
    const { connection, dataConverter, store, failpoints, client } = this;
    const config = { ...this.config, ...changes };
    return startTestHost({ connection, dataConverter, store, failpoints, config, client, memory });
  }

  input(spec: Partial<SandboxSpec> = {}, timeouts: Partial<Timeouts> = {}): SandboxInput {
    return buildSandboxInput(spec, timeouts);
  }

  /** Starts a create and waits until it is running or at its end. */
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

  /** The record, as soon as it satisfies `wish`. */
  async until(id: string, wish: (record: SandboxRecord) => boolean): Promise<SandboxRecord> {
    return eventually(
      () => this.store.sandboxes.get(id),
      (record): record is SandboxRecord => record !== null && wish(record),
    );
  }

  /** The snapshots on the machine. */
  onHost(): Promise<KeptSnapshot[]> {
    return this.machine().hypervisor.snapshots.list();
  }

  /** @throws Error when its host worker is stopped */
  machine(): HostMachine {
    if (!this.host) throw new Error('there is no host to look at');
    return this.host.machine;
  }

  /** What is on the machine under any sandbox's name. */
  async marks(): Promise<Mark[]> {
    const { hypervisor, credentials, ledger } = this.machine();
    return (await Promise.all([hypervisor.marks(), credentials.marks(), ledger.marks()])).flat();
  }

  /** What is on the machine under the name of any sandbox: nothing, when none is alive. */
  async residue(): Promise<Observation[]> {
    return (await this.marks()).map(({ observation }) => observation);
  }

  async stop(): Promise<void> {
    await this.host?.stop();
    await this.closers.close();
  }
}
