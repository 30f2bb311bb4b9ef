import { allSettledOrThrow } from '../host/os/abort.ts';
import { makeSearchable } from '../host/os/directory.ts';
import type { HostRecord } from '../model/host.ts';
import { DEFAULT_PROJECT } from '../model/project.ts';
import { toAdoptionInput } from '../model/sagas/reconcile.ts';
import { OPEN_STATES } from '../model/sandbox/sandbox-state.ts';
import { checkAddresses } from '../services/listen.ts';
import type { Store } from '../store/connect.ts';
import { ApiTemporalClient } from '../temporal/temporal-sagas.ts';
import { startApiPart } from './api-part.ts';
import { Closers } from './config/closers.ts';
import type { Config } from './config/config.ts';
import { startControlPart } from './control-part.ts';
import { startHostPart } from './host-part.ts';
import type { HostMachine } from './machine/host-machine.ts';
import { temporalClient } from './payloads/data-converter.ts';
import { openProcess, type Process } from './process.ts';
import { InstallationLock } from './servers/installation-lock.ts';
import { OPEN_ADDRESS } from './servers/loopback-guard.ts';
import { LISTEN_ADDRESSES } from './servers/places.ts';
import { saveServerAddresses } from './servers/remembered-servers.ts';
import { ensureServers, progress, type Servers } from './servers/servers.ts';
import { startTemporalUi } from './servers/temporal-ui.ts';

/** Running installation with all its parts on this machine. */
export interface Installation {
  apiUrl: string;
  /** Null: the API serves hooks. */
  hooksUrl: string | null;
  /** Base URL of the names of open ports. */
  ingressUrl: string;
  /** API key with the scope `admin`, created for this run and revoked at its end. */
  adminKey: string;
  hostId: string;
  kind: HostRecord['kind'];
  stateDir: string;
  /** Resolves with a sentence when a part has failed: then the installation must stop. */
  broken: Promise<string>;
  /**
   * `keep`: the machines keep running without the worker. `destroy`: every sandbox is destroyed and proved first, and
   * Mayfly's own libvirtd ends.
   */
  stop(options: { sandboxes: 'keep' | 'destroy' }): Promise<void>;
  describe(): ReturnType<typeof describeInstallation>;
}

/**
 * Starts Temporal and the store where the environment names none, then the control worker, the host worker and the API,
 * all in this process.
 * @param onProgress gets one sentence per part, with its duration
 * @param signal ends the start between two parts
 * @param closers close everything opened
 * @throws MayflyError of the part that failed, or the signal's reason; all other parts are stopped
 */
export async function startInstallation(
  config: Config,
  onProgress: (line: string) => void,
  signal?: AbortSignal,
  closers: Closers = new Closers(),
): Promise<Installation> {
  try {
    return await start(config, onProgress, closers, () => signal?.throwIfAborted());
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function start(
  config: Config,
  onProgress: (line: string) => void,
  closers: Closers,
  mayGoOn: () => void,
): Promise<Installation> {
  const timed = progress(onProgress);
  await makeSearchable(config.stateDir);
  const lock = await InstallationLock.take(config.stateDir);
  closers.add('lock of the state folder', () => lock.release());
  await checkAddresses([...LISTEN_ADDRESSES.api(config), ...LISTEN_ADDRESSES.host(config)]);
  mayGoOn();
  const servers = await ensureServers(config, closers, onProgress);
  mayGoOn();
  await saveServerAddresses(config.stateDir, servers);
  const process = await openProcess(config, servers, closers, true);
  mayGoOn();
  const [control, host] = await allSettledOrThrow(
    timed('control worker', () => startControlPart(process)),
    timed(`host worker (${config.hostKind})`, () => startHostPart(process)),
  );
  mayGoOn();
  const adminKey = await createRunKey(control.store, `mayfly up on ${config.hostId}`, closers);
  const api = await timed('API', () => startApiPart(process));
  mayGoOn();
  const { connection, dataConverter } = process;
  const client = temporalClient({ connection, dataConverter, namespace: config.temporalNamespace });
  const sagas = new ApiTemporalClient(client);
  const temporalUiUrl = await openTemporalUi(process, servers);

  return {
    apiUrl: api.url,
    hooksUrl: api.hooksUrl,
    ingressUrl: api.ingressUrl,
    adminKey,
    hostId: config.hostId,
    kind: host.machine.hypervisor.kind,
    stateDir: config.stateDir,
    broken: Promise.race([
      servers.died,
      watchWorkerFailure('control worker', control.ended),
      watchWorkerFailure('host worker', host.ended),
    ]),
    async stop({ sandboxes }) {
      if (sandboxes === 'destroy') {
        await destroyAll(control.store, sagas);
        host.machine.endOnClose();
      }
      await closers.close();
    },
    describe: () => describeInstallation({ ...servers, temporalUiUrl }, host.machine),
  };
}

/** @returns its URL; null: Temporal is external */
async function openTemporalUi(
  { config, dataConverter, closers }: Process,
  { temporalUiUrl }: Servers,
): Promise<string | null> {
  if (temporalUiUrl === null) return null;
  const isGuarded = new URL(temporalUiUrl).hostname !== OPEN_ADDRESS;
  const { url, stop } = await startTemporalUi(temporalUiUrl, {
    namespace: config.temporalNamespace,
    codecs: isGuarded ? (dataConverter.payloadCodecs ?? []) : [],
    writes: config.temporalUiWrites,
  });
  closers.add('Temporal UI', async () => stop());
  return url;
}

function describeInstallation(servers: Servers, { hypervisor, state }: HostMachine) {
  return {
    temporalAddress: servers.temporalAddress,
    /** Null when the server is external. */
    temporalUiUrl: servers.temporalUiUrl,
    /** Null on a simulated host. */
    libvirtUri: hypervisor.uri,
    sandboxesDir: state.sandboxes,
    credentialsDir: state.credentials,
    leaseFiles: hypervisor.leaseFiles(),
  };
}

/** Creates the operator key, which ends with this run. Revokes the key of a run that was killed. */
async function createRunKey({ apiKeys }: Store, name: string, closers: Closers): Promise<string> {
  const earlier = (await apiKeys.list()).filter((key) => key.name === name && key.revokedAt === null);
  for (const { id } of earlier) await apiKeys.revoke(id);
  const { key, secret } = await apiKeys.create({
    project: DEFAULT_PROJECT,
    name,
    scopes: ['operator'],
    endsWithRun: true,
  });
  closers.add('operator key', async () => void (await apiKeys.revoke(key.id)));
  return secret;
}

/**
 * Destroys every living sandbox, and waits for the proofs. Each round ends pools and templates, since a pool may be
 * recorded late.
 */
async function destroyAll(store: Store, sagas: ApiTemporalClient): Promise<void> {
  for (;;) {
    await endPoolsAndTemplates(store, sagas);
    const alive = await store.sandboxes.all(OPEN_STATES);
    if (alive.length === 0) return;
    await Promise.all(
      alive.map(async (record) => {
        await sagas.sandboxes.destroy(toAdoptionInput(record, 'destroy'), { actor: record.createdBy });
        await sagas.sandboxes.ended(record.id, AbortSignal.timeout(120_000));
      }),
    );
  }
}

/** Ends pools and builds of templates, which create sandboxes on their own. */
async function endPoolsAndTemplates(store: Store, sagas: ApiTemporalClient): Promise<void> {
  const at = new Date().toISOString();
  for (const { project, name, createdBy, source, cpus, memoryMib, egress, min, max } of await store.pools.all()) {
    const poolSpec = { source, cpus, memoryMib, egress, min, max };
    await sagas.pools.delete({ project, name, wish: poolSpec, actor: createdBy, at }, createdBy);
  }
  for (const record of await store.templates.all(['building', 'verifying', 'ready', 'failed'])) {
    const { id, key: templateKey, hostId, installationId, project, source, cpus, memoryMib } = record;
    const of = { hostId, installationId, project, source, cpus, memoryMib };
    await sagas.templates.remove({ templateKey, ...of, actor: record.createdBy }, id);
  }
}

/** Stays pending when the worker was stopped on purpose. */
function watchWorkerFailure(name: string, ended: Promise<void>): Promise<string> {
  return new Promise((resolve) => {
    ended.catch((error: unknown) =>
      resolve(`the ${name} failed: ${error instanceof Error ? error.message : String(error)}`),
    );
  });
}
