import './plain-stacks.ts';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPrivateLibvirtd } from '../../host/libvirt/network/private-libvirtd.ts';
import { Closers } from '../../worker/config/closers.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { MayflyProcess, waitUntilReady } from './mayfly-process.ts';
import { startStoreServer } from './store-server.ts';

export interface LibvirtUp {
  baseUrl: string;
  apiKey: string;
  hostId: string;
  stateRoot: string;
  storeUri: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    libvirtUp: LibvirtUp;
  }
}

const HOST_ID = 'installation';

/** Starts one `mayfly up` on libvirt, with its own store, for all test files of a project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const closers = new Closers();
  try {
    project.provide('libvirtUp', await startUp(closers, project.getProvidedContext().temporalAddress));
  } catch (error) {
    await closers.close();
    throw error;
  }
  return () => closers.close();
}

async function startUp(closers: Closers, temporalAddress: string): Promise<LibvirtUp> {
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
    MAYFLY_TEMPLATES: 'off', // each sandbox boots, and no template is made concurrently
    TEMPORAL_ADDRESS: temporalAddress,
    MONGODB_URI: server.uri,
  });
  closers.add('mayfly up', async () => void (await up.end('SIGINT')));
  const serves = await up.serves();
  await waitUntilReady(serves.baseUrl); // keeps the start-up out of the tests
  return { ...serves, hostId: HOST_ID, stateRoot: state.root, storeUri: server.uri };
}
