import { chmod, readdir, readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { MayflyClient } from '../../client/mayfly-client.ts';
import { exec } from '../../host/os/exec.ts';
import { connectStore } from '../../store/connect.ts';
import { Closers } from '../../worker/config/closers.ts';
import { readConfig } from '../../worker/config/config.ts';
import { type Installation, startInstallation } from '../../worker/installation.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { addBootedSnapshot } from './booted-snapshot.ts';
import { startStoreServer } from './store-server.ts';

export const SOURCE = 'golden-debian12';
/** Real machines take long on a busy host. */
export const WAIT = { waitSeconds: 240 };
const HOST_ID = 'installation';

/** An installation on libvirt. After each test its sandboxes are destroyed, and nothing of them may be left. */
export function useLibvirtInstallation() {
  const closers = new Closers();
  let started: { installation: Installation; mayfly: MayflyClient; storeUri: string } | undefined;
  const get = () => {
    if (!started) throw new Error('the installation has not been started');
    return started;
  };

  beforeAll(async () => {
    const { state, remove } = await temporaryState();
    closers.add('state folder', remove);
    await chmod(state.root, 0o711); // QEMU runs as another user
    const server = await startStoreServer();
    closers.add('store server', () => server.stop());
    const config = readConfig({
      MAYFLY_HOST: 'libvirt',
      MAYFLY_LIBVIRT_URI: 'private',
      MAYFLY_HOST_ID: HOST_ID,
      MAYFLY_STATE_DIR: state.root,
      MAYFLY_API_PORT: '0',
      MAYFLY_LOG_LEVEL: 'error',
      MAYFLY_TEMPLATES: 'off', // each boots, and nothing is made beside it
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      MONGODB_URI: server.uri,
    });
    const installation = await startInstallation(config, () => {});
    closers.add('installation', () => installation.stop({ sandboxes: 'destroy' }));
    const mayfly = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
    started = { installation, mayfly, storeUri: server.uri };
  });

  afterEach(async () => {
    const { mayfly } = get();
    const { items } = await mayfly.listSandboxes({ limit: 200 });
    const alive = items.filter(({ state }) => state !== 'destroyed' && state !== 'failed');
    await Promise.all(alive.map(({ id }) => mayfly.destroySandbox(id, WAIT)));
    expect(await inspect()).toEqual({ domains: new Set([SOURCE]), leases: [], workspaces: [], credentials: [] });
  });

  afterAll(() => closers.close());

  /** Lists what plain tools find of sandboxes, whatever the product reports. */
  async function inspect() {
    const { libvirtUri, leaseFiles, sandboxesDir, credentialsDir } = get().installation.describe();
    const { stdout } = await exec('virsh', ['-c', libvirtUri ?? '', 'list', '--all', '--name']);
    const leases = await Promise.all(leaseFiles.map((path) => readFile(path, 'utf8').catch(() => '')));
    return {
      domains: new Set(stdout.split('\n').filter((name) => name !== '')),
      leases: [...leases.join('').matchAll(/"ip-address": "([^"]+)"/g)].map(([, address]) => address),
      workspaces: await readdir(sandboxesDir),
      credentials: await readdir(credentialsDir),
    };
  }

  /** Adds a snapshot of a guest that has booted, for sandboxes whose booting is not tested, and returns its id. */
  async function bootedSnapshot(): Promise<string> {
    const { installation, storeUri } = get();
    const store = await connectStore(storeUri);
    try {
      const { snapshots } = store;
      return await addBootedSnapshot({ hostId: HOST_ID, stateDir: installation.stateDir, snapshots });
    } finally {
      await store.close();
    }
  }

  return { installation: () => get().installation, mayfly: () => get().mayfly, inspect, bootedSnapshot };
}
