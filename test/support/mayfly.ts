import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { msToTs } from '@temporalio/common/lib/time.js';
import { DefaultLogger, type NativeConnection, Runtime } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { RequestKey } from '../../ca/signed-request.ts';
import { UserCa } from '../../ca/user-ca.ts';
import { Failpoints } from '../../host/failpoints.ts';
import type { Mark } from '../../host/hypervisor.ts';
import { InMemoryMachine } from '../../host/in-memory/machine.ts';
import type { KeptSnapshot } from '../../host/snapshots.ts';
import { ID_BYTES, sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { workflowIdOf } from '../../model/sagas/queues.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import { LIVING_STATES, type SandboxRecord, type SandboxSpec } from '../../model/sandbox/sandbox.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import { TemporalSagas } from '../../sagas/temporal-sagas.ts';
import { connectStore, type Store } from '../../store/connect.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { Closers } from '../../worker/config/closers.ts';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { createControlWorker } from '../../worker/control.ts';
import type { HostMachine } from '../../worker/machine/host-machine.ts';
import {
  dataConverterOf,
  FAILURE_CONVERTER,
  installationKeys,
  temporalClient,
} from '../../worker/payloads/data-converter.ts';
import { type RunningWorker, runWorker } from '../../worker/running-worker.ts';
import { connectTemporal, registerSearchAttributes } from '../../worker/servers/temporal.ts';
import { requestIdOfClient } from '../../worker/tracing/request-id.ts';
import { eventually } from './eventually.ts';
import { runsThatReplayOtherwise } from './replayed-runs.ts';
import { startStoreServer } from './store-server.ts';
import { type HostPart, startTestHost } from './test-host.ts';
import { HANGS_AFTER_MS, TEST_TIMEOUTS } from './test-timeouts.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

/** `in-memory`: host/in-memory/, for tests of what sagas do; no setting offers it. */
export type TestHostKind = 'simulated' | 'in-memory';

/** The product without its HTTP door: control worker, one host worker on a host of that kind, a store of its own. */
export class TestMayfly {
  readonly failpoints = Failpoints.parse(undefined);
  sagas: TemporalSagas;
  host: HostPart | null = null;
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
    // a history that is kept is read by whoever has no key
    const isKept = process.env['MAYFLY_RECORD_HISTORIES'] !== undefined;
    const dataConverter = isKept ? { failureConverterPath: FAILURE_CONVERTER } : dataConverterOf(keys);
    const memory = kind === 'in-memory' ? new InMemoryMachine() : null;
    const mayfly = new TestMayfly(
      store,
      temporalClient({ connection, dataConverter, interceptors: { workflow: [requestIdOfClient()] } }),
      config,
      connection,
      dataConverter,
      closers,
      memory,
      requestKey,
    );
    closers.add('open runs', () => mayfly.#endOpenRuns());
    closers.add('control worker', async () => mayfly.#control?.stop());
    await mayfly.startControl();
    await mayfly.startHost();
    return mayfly;
  }

  /**
   * The control worker of the next file has another key: it can neither go on with what is still open on the same server, nor
   * can its reconciler be told of it.
   */
  async #endOpenRuns(): Promise<void> {
    const { namespace } = this.client.options;
    const query = 'ExecutionStatus="Running"';
    await eventually(
      async () => {
        const { executions } = await this.connection.workflowService.listWorkflowExecutions({ namespace, query });
        const ids = executions.flatMap(({ execution }) => execution?.workflowId ?? []);
        const end = (id: string) => this.client.workflow.getHandle(id).terminate('the tests of its file are over');
        await Promise.allSettled(ids.map(end));
        return ids;
      },
      (ids) => ids.length === 0,
    );
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
    const options = { connection, namespace, dataConverter, store, ca, failpoints, workflowBundle };
    this.#control = runWorker(await createControlWorker(options));
  }

  /** Until {@link startControl}. */
  async stopControl(): Promise<void> {
    await this.#control?.stop();
    this.#control = null;
  }

  /** Goes on as if Temporal's database had been lost: in a namespace in which nothing has happened yet. */
  async loseTemporal(): Promise<void> {
    await this.host?.stop();
    await this.#control?.stop();
    this.#control = null;
    const { connection, dataConverter } = this;
    const namespace = `lost-${randomBytes(4).toString('hex')}`;
    const workflowExecutionRetentionPeriod = msToTs('1d');
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    await eventually(
      () =>
        registerSearchAttributes(connection, namespace).then(
          () => null,
          (error: unknown) => String(error),
        ),
      (failure) => failure === null,
    );
    this.client = temporalClient({ connection, dataConverter, namespace });
    this.sagas = this.#sagasOf(this.client);
    await this.startControl();
    await this.startHost();
  }

  /** The API's, but that a busy machine has its time: a hundred calls at once may take longer than a call has. */
  #sagasOf(client: Client): TemporalSagas {
    return new TemporalSagas(client, { signer: this.requestKey.signer({ process: 'api' }), callMs: HANGS_AFTER_MS });
  }

  /** Starts the host worker, as after a boot whose id is in that file; after {@link HostPart.stop} it can be started again on the same machine. */
  async startHost(bootIdFile?: string): Promise<HostPart> {
    const { connection, dataConverter, store, failpoints, config, client, memory } = this;
    const where = { config, memory, ...(bootIdFile !== undefined && { bootIdFile }) };
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
    await this.sagas.settled(input.id, AbortSignal.timeout(HANGS_AFTER_MS));
    return this.record(input.id);
  }

  async destroy(input: SandboxInput): Promise<SandboxRecord> {
    await this.sagas.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
    return this.end(input.id);
  }

  /** Waits for the proof. */
  async end(id: string): Promise<SandboxRecord> {
    await this.sagas.ended(id, AbortSignal.timeout(HANGS_AFTER_MS));
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

  /** Keeps a life for the replay tests, when MAYFLY_RECORD_HISTORIES is set. */
  async keepHistory(name: string, id: string, workflowId = workflowIdOf(id)): Promise<void> {
    if (!process.env['MAYFLY_RECORD_HISTORIES']) return;
    const history = await this.client.workflow.getHandle(workflowId).fetchHistory();
    await writeFile(
      fileURLToPath(new URL(`../histories/${name}.json`, import.meta.url)),
      historyToJSON(history).replace(/"stackTrace": "(?:[^"\\]|\\.)*"/g, '"stackTrace": ""'),
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
    return (await this.marks()).map((mark) => mark.observation);
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
    for (const { id } of await store.sandboxes.all(LIVING_STATES)) {
      await running().destroy({ ...running().input(), id });
    }
    expect(await running().residue()).toEqual([]);
  });
  return running;
}
