import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, inject } from 'vitest';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { findPrivateLibvirtd, leaseFolderOf } from '../../host/libvirt/network/private-libvirtd.ts';
import { exec } from '../../host/os/exec.ts';
import { StateDir } from '../../host/state-dir.ts';
import { connectStore } from '../../store/connect.ts';
import { addBootedSnapshot } from './booted-snapshot.ts';

export const SOURCE = 'golden-debian12';
/** Wait for real machines, which are slow on a busy host. */
export const WAIT = { waitSeconds: 240 };

let booted: Promise<string> | undefined;

/** Adds a snapshot of a booted guest, once for all files, for sandboxes that need no boot. @returns its id */
function bootedSnapshot(): Promise<string> {
  booted ??= addSnapshot();
  return booted;
}

async function addSnapshot(): Promise<string> {
  const { hostId, stateRoot, storeUri } = inject('libvirtUp');
  const store = await connectStore(storeUri);
  try {
    return await addBootedSnapshot({ hostId, stateDir: stateRoot, snapshots: store.snapshots });
  } finally {
    await store.close();
  }
}

/** Returns the project's `mayfly up`. After each test its sandboxes are destroyed, and must leave no residue. */
export function useLibvirtInstallation() {
  const { baseUrl, apiKey, stateRoot } = inject('libvirtUp');
  const mayfly = new MayflyClient({ baseUrl, apiKey });
  const state = new StateDir(stateRoot);
  const libvirtFolder = join(stateRoot, 'libvirt');

  afterEach(async () => {
    const { items } = await mayfly.listSandboxes({ limit: 200 });
    const alive = items.filter(({ state }) => state !== 'destroyed' && state !== 'failed');
    await Promise.all(alive.map(({ id }) => mayfly.destroySandbox(id, WAIT)));
    expect(await inspect()).toEqual({ domains: new Set([SOURCE]), leases: [], workspaces: [], credentials: [] });
  });

  /** Lists sandboxes by plain tools, independently of the product. */
  async function inspect() {
    const { uri = '' } = (await findPrivateLibvirtd(libvirtFolder)) ?? {};
    const { stdout } = await exec('virsh', ['-c', uri, 'list', '--all', '--name']);
    const leaseFolder = leaseFolderOf(libvirtFolder);
    const files = (await readdir(leaseFolder)).filter((name) => name.endsWith('.status'));
    const leases = await Promise.all(files.map((name) => readFile(join(leaseFolder, name), 'utf8')));
    return {
      domains: new Set(stdout.split('\n').filter((name) => name !== '')),
      leases: [...leases.join('').matchAll(/"ip-address": "([^"]+)"/g)].map(([, address]) => address),
      workspaces: await readdir(state.sandboxes),
      credentials: await readdir(state.credentials),
    };
  }

  /** Runs a command to its end, and returns its trimmed standard output. */
  async function run(id: string, command: string): Promise<string> {
    const ended = await mayfly.commands.run(id, { command }, WAIT);
    expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
    return (await text(await mayfly.commands.output(id, ended.id, 'stdout'))).trim();
  }

  return { state, mayfly, inspect, bootedSnapshot, run };
}
