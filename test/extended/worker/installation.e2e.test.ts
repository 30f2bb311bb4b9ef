import { chmod, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { MayflyClient } from '../../../client/mayfly-client.ts';
import { startPrivateLibvirtd } from '../../../host/libvirt/network/private-libvirtd.ts';
import { exec } from '../../../host/os/exec.ts';
import { unprovenLayers } from '../../../model/sandbox/proof.ts';
import { isFinal, type SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { readConfig } from '../../../worker/config/config.ts';
import { type Installation, startInstallation } from '../../../worker/installation.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { eventually } from '../../support/eventually.ts';
import { readableByNobody } from '../../support/local-user.ts';

const SOURCE = 'golden-debian12';
const WAIT = { waitSeconds: 240 };

let installation: Installation;
let mayfly: MayflyClient;
let removeState: () => Promise<void>;

beforeAll(async () => {
  const { state, remove } = await temporaryState();
  removeState = remove;
  await chmod(state.root, 0o711); // QEMU runs as another user
  const config = readConfig({
    MAYFLY_HOST: 'libvirt',
    MAYFLY_LIBVIRT_URI: 'private',
    MAYFLY_STATE_DIR: state.root,
    MAYFLY_API_PORT: '0',
    MAYFLY_LOG_LEVEL: 'error',
    MAYFLY_TEMPLATES: 'off', // each boots, and nothing is made beside it
    TEMPORAL_ADDRESS: process.env['TEMPORAL_ADDRESS'],
    MONGODB_URI: process.env['MONGODB_URI'],
  });
  installation = await startInstallation(config, () => {});
  mayfly = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
});

afterEach(async () => {
  const { items } = await mayfly.listSandboxes({ limit: 200 });
  const alive = items.filter(({ state }) => state !== 'destroyed' && state !== 'failed');
  await Promise.all(alive.map(({ id }) => mayfly.destroySandbox(id, WAIT)));
  expect(await seen()).toEqual({ domains: new Set([SOURCE]), leases: [], workspaces: [], credentials: [] });
});

afterAll(async () => {
  await installation?.stop({ sandboxes: 'destroy' });
  await removeState?.();
});

/** What plain tools see of sandboxes, whatever the product reports. */
async function seen() {
  const { libvirtUri, leaseFiles, sandboxesDir, credentialsDir } = installation.describe();
  const { stdout } = await exec('virsh', ['-c', libvirtUri ?? '', 'list', '--all', '--name']);
  const leases = await Promise.all(leaseFiles.map((path) => readFile(path, 'utf8').catch(() => '')));
  return {
    domains: new Set(stdout.split('\n').filter((name) => name !== '')),
    leases: [...leases.join('').matchAll(/"ip-address": "([^"]+)"/g)].map(([, address]) => address),
    workspaces: await readdir(sandboxesDir),
    credentials: await readdir(credentialsDir),
  };
}

function expectProved(record: SandboxRecord): void {
  expect(unprovenLayers(record.proof?.observations ?? [])).toEqual([]);
}

async function untilPhase(id: string, phase: SandboxRecord['phase']): Promise<void> {
  const isThere = (record: SandboxRecord) => record.phase === phase || isFinal(record.state);
  expect(await eventually(() => mayfly.getSandbox(id), isThere)).toMatchObject({ phase });
}

test('one sandbox: made, seen by plain tools, destroyed and proved', async () => {
  const running = await mayfly.createSandbox({ source: SOURCE }, WAIT);
  expect(running).toMatchObject({ state: 'running', spec: { source: SOURCE } });
  expect(await seen()).toEqual({
    domains: new Set([SOURCE, running.id]),
    leases: [running.ssh?.address],
    workspaces: [running.id],
    credentials: [running.id],
  });
  expect(await readableByNobody(installation.stateDir)).toEqual([]);
  const destroyed = await mayfly.destroySandbox(running.id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed' });
  expectProved(destroyed);
});

test('four at once have four addresses and four host keys', async () => {
  const made = await Promise.all(Array.from({ length: 4 }, () => mayfly.createSandbox({ source: SOURCE }, WAIT)));
  expect(new Set(made.map(({ ssh }) => ssh?.address)).size).toBe(4);
  expect(new Set(made.map(({ ssh }) => ssh?.hostKey)).size).toBe(4);
  const ended = await Promise.all(made.map(({ id }) => mayfly.destroySandbox(id, WAIT)));
  for (const record of ended) expectProved(record);
});

test('a delete while the guest boots cancels the create', async () => {
  const asked = await mayfly.createSandbox({ source: SOURCE }, { waitSeconds: 0 });
  await untilPhase(asked.id, 'awaiting-ip');
  const destroyed = await mayfly.destroySandbox(asked.id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', runningAt: null });
  expectProved(destroyed);
});

test('a TTL that ends while the guest boots leaves nothing either', async () => {
  const asked = await mayfly.createSandbox({ source: SOURCE, ttlSeconds: 4 }, { waitSeconds: 0 });
  const ended = await lastOf(asked.id);
  expect(ended).toMatchObject({ state: 'destroyed', stopReason: 'ttl' });
  expectProved(ended);
});

test('a destroy while libvirtd is away goes on when the host worker has started it again', async () => {
  const asked = await mayfly.createSandbox({ source: SOURCE }, { waitSeconds: 0 });
  await untilPhase(asked.id, 'awaiting-ip');
  const daemon = await startPrivateLibvirtd(join(installation.stateDir, 'libvirt'));
  await daemon.stop({ machines: false });
  const destroyed = await mayfly.destroySandbox(asked.id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
  expectProved(destroyed);
});

/** The record at its end, told by the event stream. */
async function lastOf(id: string): Promise<SandboxRecord> {
  let last: SandboxRecord | null = null;
  for await (const record of mayfly.watchSandbox(id)) last = record;
  if (!last) throw new Error(`nothing was told of ${id}`);
  return last;
}
