import { chmod, readdir } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MayflyClient } from '../../client/mayfly-client.ts';
import { exec } from '../../host/os/exec.ts';
import { unprovenLayers } from '../../model/sandbox/proof.ts';
import { connectStore } from '../../store/connect.ts';
import { Closers } from '../../worker/config/closers.ts';
import { readConfig } from '../../worker/config/config.ts';
import { type Installation, startInstallation } from '../../worker/installation.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { addBootedSnapshot } from '../support/booted-snapshot.ts';
import { startStoreServer } from '../support/store-server.ts';

const WAIT = { waitSeconds: 240 };
const HOST_ID = 'life';
const FILE = '/home/sandbox/note';

const closers = new Closers();
let installation: Installation;
let mayfly: MayflyClient;
let bootedId: string;

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
    MAYFLY_TEMPLATES: 'off',
    TEMPORAL_ADDRESS: process.env['TEMPORAL_ADDRESS'],
    MONGODB_URI: server.uri,
  });
  installation = await startInstallation(config, () => {});
  closers.add('installation', () => installation.stop({ sandboxes: 'destroy' }));
  mayfly = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
  const store = await connectStore(server.uri);
  closers.add('store', () => store.close());
  bootedId = await addBootedSnapshot({ hostId: HOST_ID, stateDir: state.root, snapshots: store.snapshots });
});
afterAll(() => closers.close());

/** Domains, workspaces and credentials of sandboxes, as plain tools show them. */
async function residue() {
  const { libvirtUri, sandboxesDir, credentialsDir } = installation.describe();
  const { stdout } = await exec('virsh', ['-c', libvirtUri ?? '', 'list', '--all', '--name']);
  const domains = stdout.split('\n').filter((name) => name.startsWith('sbx-'));
  return { domains, workspaces: await readdir(sandboxesDir), credentials: await readdir(credentialsDir) };
}

async function run(id: string, command: string): Promise<string> {
  const ended = await mayfly.commands.run(id, { command }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  return (await text(await mayfly.commands.output(id, ended.id, 'stdout'))).trim();
}

test('a virtual machine wakes, works, is saved with its memory, restored and destroyed with proof', async () => {
  const { id, state, ssh } = await mayfly.createSandbox({ snapshotId: bootedId }, WAIT);
  expect(state).toBe('running');
  expect(await residue()).toEqual({ domains: [id], workspaces: [id], credentials: [id] });
  expect(await run(id, 'hostname; hostname -I')).toBe(`${id}\n${ssh?.address}`);

  await mayfly.files.write(id, FILE, Buffer.from('kept'));
  await run(id, 'echo kept >/dev/shm/memory');
  const saved = await mayfly.snapshots.take(id, { kind: 'full' }, WAIT);
  expect(saved).toMatchObject({ state: 'ready', kind: 'full' });
  await run(id, `echo lost >${FILE}; echo lost >/dev/shm/memory`);
  expect(await mayfly.snapshots.restore(id, { snapshotId: saved.id }, WAIT)).toMatchObject({
    sandbox: { state: 'running' },
  });
  expect(await run(id, `cat ${FILE} /dev/shm/memory`)).toBe('keptkept');

  const destroyed = await mayfly.destroySandbox(id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
  expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
  expect(await residue()).toEqual({ domains: [], workspaces: [], credentials: [] });
});
