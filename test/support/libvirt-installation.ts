import { chmod, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { MayflyClient } from '../../client/mayfly-client.ts';
import {
  findPrivateLibvirtd,
  leaseFolderOf,
  startPrivateLibvirtd,
} from '../../host/libvirt/network/private-libvirtd.ts';
import { exec } from '../../host/os/exec.ts';
import type { StateDir } from '../../host/state-dir.ts';
import { connectStore } from '../../store/connect.ts';
import { Closers } from '../../worker/config/closers.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { addBootedSnapshot } from './booted-snapshot.ts';
import { MayflyProcess } from './mayfly-process.ts';
import { startStoreServer } from './store-server.ts';

export const SOURCE = 'golden-debian12';
/** Real machines take long on a busy host. */
export const WAIT = { waitSeconds: 240 };
const HOST_ID = 'installation';

interface Running {
  mayfly: MayflyClient;
  state: StateDir;
  storeUri: string;
}

/** A `mayfly up` on libvirt. After each test its sandboxes are destroyed, and nothing of them may be left. */
export function useLibvirtInstallation() {
  const closers = new Closers();
  let running: Running | undefined;
  const get = () => {
    if (!running) throw new Error('the installation has not been started');
    return running;
  };
  const libvirtFolder = () => join(get().state.root, 'libvirt');

  beforeAll(async () => {
    const { state, remove } = await temporaryState();
    closers.add('state folder', remove);
    await chmod(state.root, 0o711); // QEMU runs as another user
    const server = await startStoreServer();
    closers.add('store server', () => server.stop());
    closers.add('libvirtd', async () => {
      const libvirtd = await startPrivateLibvirtd(join(state.root, 'libvirt'));
      await libvirtd.stop({ machines: true });
    });
    const up = new MayflyProcess(['up', '--json'], {
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
    closers.add('mayfly up', async () => void (await up.end('SIGINT')));
    running = { mayfly: new MayflyClient(await up.serves()), state, storeUri: server.uri };
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
    const { sandboxes, credentials } = get().state;
    const { uri = '' } = (await findPrivateLibvirtd(libvirtFolder())) ?? {};
    const { stdout } = await exec('virsh', ['-c', uri, 'list', '--all', '--name']);
    const leaseFolder = leaseFolderOf(libvirtFolder());
    const files = (await readdir(leaseFolder)).filter((name) => name.endsWith('.status'));
    const leases = await Promise.all(files.map((name) => readFile(join(leaseFolder, name), 'utf8')));
    return {
      domains: new Set(stdout.split('\n').filter((name) => name !== '')),
      leases: [...leases.join('').matchAll(/"ip-address": "([^"]+)"/g)].map(([, address]) => address),
      workspaces: await readdir(sandboxes),
      credentials: await readdir(credentials),
    };
  }

  /** Adds a snapshot of a guest that has booted, for sandboxes whose booting is not tested, and returns its id. */
  async function bootedSnapshot(): Promise<string> {
    const { state, storeUri } = get();
    const store = await connectStore(storeUri);
    try {
      return await addBootedSnapshot({ hostId: HOST_ID, stateDir: state.root, snapshots: store.snapshots });
    } finally {
      await store.close();
    }
  }

  /** Runs a command to its end, and returns its trimmed standard output. */
  async function run(id: string, command: string): Promise<string> {
    const { commands } = get().mayfly;
    const ended = await commands.run(id, { command }, WAIT);
    expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
    return (await text(await commands.output(id, ended.id, 'stdout'))).trim();
  }

  return { state: () => get().state, mayfly: () => get().mayfly, inspect, bootedSnapshot, run };
}
