import { allEnded } from '../host/os/abort.ts';
import { makeSearchable } from '../host/os/directory.ts';
import type { HostRecord } from '../model/host.ts';
import { DEFAULT_PROJECT } from '../model/project.ts';
import { recordedInput } from '../model/sagas/reconcile.ts';
import { LIVING_STATES } from '../model/sandbox/sandbox-state.ts';
import { checkPlaces } from '../services/listen.ts';
import type { Store } from '../store/connect.ts';
import { TemporalSagas } from '../temporal/temporal-sagas.ts';
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
import { PLACES } from './servers/places.ts';
import { rememberServers } from './servers/remembered-servers.ts';
import { ensureServers, progress, type Servers } from './servers/servers.ts';
import { startTemporalUi } from './servers/temporal-ui.ts';

/** All of Mayfly on this machine, running. */
export interface Installation {
  apiUrl: string;
  /** Null: at the API. */
  hooksUrl: string | null;
  /** Below which open ports of sandboxes have names. */
  ingressUrl: string;
  /** An API key with the scope `admin`, made for this run and revoked at its end. */
  adminKey: string;
  hostId: string;
  kind: HostRecord['kind'];
  stateDir: string;
  /** Resolves with a sentence when a part has ended by itself: then the installation is to be stopped. */
  broken: Promise<string>;
  /**
   * `keep`: the machines go on running without us. `destroy`: every sandbox is destroyed and proved first, and a
   * libvirtd of our own is ended.
   */
  stop(options: { sandboxes: 'keep' | 'destroy' }): Promise<void>;
  describe(): ReturnType<typeof described>;
}

/**
 * Starts Temporal and the store where the environment names none, then the control worker, the host worker and the
 * API, all in this process.
 * @param onProgress gets one sentence a part, with how long it took
 * @param signal ends the start between two parts
 * @param closers are given what is opened, and close it
 * @throws MayflyError of the part that did not start, or the signal's reason; everything else has been stopped again
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
  await checkPlaces([...PLACES.api(config), ...PLACES.host(config)]);
  mayGoOn();
  const servers = await ensureServers(config, closers, onProgress);
  mayGoOn();
  await rememberServers(config.stateDir, servers);
  const process = await openProcess(config, servers, closers, true);
  mayGoOn();
  const [control, host] = await allEnded(
    timed('control worker', () => startControlPart(process)),
    timed(`host worker (${config.hostKind})`, () => startHostPart(process)),
  );
  mayGoOn();
  const adminKey = await keyOfThisRun(control.store, `mayfly up on ${config.hostId}`, closers);
  const api = await timed('API', () => startApiPart(process));
  mayGoOn();
  const { connection, dataConverter } = process;
  const client = temporalClient({ connection, dataConverter, namespace: config.temporalNamespace });
  const sagas = new TemporalSagas(client);
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
      brokenWorker('control worker', control.ended),
      brokenWorker('host worker', host.ended),
    ]),
    async stop({ sandboxes }) {
      if (sandboxes === 'destroy') {
        await destroyAll(control.store, sagas);
        host.machine.endOnClose();
      }
      await closers.close();
    },
    describe: () => described({ ...servers, temporalUiUrl }, host.machine),
  };
}

/** @returns its URL; null: Temporal is not ours */
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

function described(servers: Servers, { hypervisor, state }: HostMachine) {
  return {
    temporalAddress: servers.temporalAddress,
    /** Null when the server is not ours. */
    temporalUiUrl: servers.temporalUiUrl,
    /** Null on a simulated host. */
    libvirtUri: hypervisor.uri,
    sandboxesDir: state.sandboxes,
    credentialsDir: state.credentials,
    leaseFiles: hypervisor.leaseFiles(),
  };
}

/** Makes the operator key, which ends with this run. A run that was killed could not end its own: that is done now. */
async function keyOfThisRun({ apiKeys }: Store, name: string, closers: Closers): Promise<string> {
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

/** Ends every sandbox that is alive, and waits for its proof. Makers end in each round: a pool may be recorded only now. */
async function destroyAll(store: Store, sagas: TemporalSagas): Promise<void> {
  for (;;) {
    await endMakers(store, sagas);
    const alive = await store.sandboxes.all(LIVING_STATES);
    if (alive.length === 0) return;
    await Promise.all(
      alive.map(async (record) => {
        await sagas.sandboxes.destroy(recordedInput(record, 'destroy'), { actor: record.createdBy });
        await sagas.sandboxes.ended(record.id, AbortSignal.timeout(120_000));
      }),
    );
  }
}

/** Pools and builds of templates make sandboxes that nobody has asked for. */
async function endMakers(store: Store, sagas: TemporalSagas): Promise<void> {
  const at = new Date().toISOString();
  for (const { project, name, createdBy, source, cpus, memoryMib, egress, min, max } of await store.pools.all()) {
    const wish = { source, cpus, memoryMib, egress, min, max };
    await sagas.pools.delete({ project, name, wish, actor: createdBy, at }, createdBy);
  }
  for (const record of await store.templates.all(['building', 'verifying', 'ready', 'failed'])) {
    const { id, key: templateKey, hostId, installationId, project, source, cpus, memoryMib } = record;
    const of = { hostId, installationId, project, source, cpus, memoryMib };
    await sagas.templates.remove({ templateKey, ...of, actor: record.createdBy }, id);
  }
}

/** A worker that was stopped is not broken: this stays pending then. */
function brokenWorker(name: string, ended: Promise<void>): Promise<string> {
  return new Promise((resolve) => {
    ended.catch((error: unknown) =>
      resolve(`the ${name} failed: ${error instanceof Error ? error.message : String(error)}`),
    );
  });
}
