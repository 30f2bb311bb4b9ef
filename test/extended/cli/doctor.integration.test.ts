import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failpoints } from '../../../host/failpoints.ts';
import type { StateDir } from '../../../host/state-dir.ts';
import { macAddress } from '../../../model/ids.ts';
import { connectStore } from '../../../store/connect.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { readConfig } from '../../../worker/config/config.ts';
import { openHostMachine } from '../../../worker/machine/host-machine.ts';
import { host } from '../../api/support.ts';
import { runLine } from '../../cli/run-line.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { record, sandboxId, snapshot, snapshotId } from '../../store/support.ts';
import { MayflyProcess } from '../../support/mayfly-process.ts';
import { type StoreServer, startStoreServer } from '../../support/store-server.ts';

const [UNKNOWN, ALIVE, ENDED] = [sandboxId(1), sandboxId(2), sandboxId(3)];

interface Report {
  healthy: boolean;
  checks: { name: string; ok: boolean; remedy: string }[];
  residue?: { sandboxId: string; observation: { layer: string }; removed: boolean }[];
  notRemoved?: string;
  unknown?: string;
  snapshots: {
    found?: { id: string; isSafe: boolean; removed: boolean }[];
    notRemoved?: string;
    unknown?: string;
  };
}

/** Store that `mayfly doctor` only reads. */
let server: StoreServer;
let closers: Closers;
let state: StateDir;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  server = await startStoreServer();
  const store = await connectStore(server.uri);
  await store.sandboxes.create(record(2, { state: 'running' }));
  await store.sandboxes.create(record(3, { state: 'destroyed' }));
  const states = { 1: 'ready', 2: 'creating', 3: 'failed', 4: 'deleted', 5: 'ready' } as const;
  for (const [n, state] of Object.entries(states)) await store.snapshots.create(snapshot(Number(n), { state }));
  await store.close();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  closers = new Closers();
  const temporary = await temporaryState();
  state = temporary.state;
  closers.add('state folder', temporary.remove);
  env = { MAYFLY_HOST: 'simulated', MAYFLY_STATE_DIR: state.root, MONGODB_URI: server.uri, TEMPORAL_ADDRESS: '' };
});
afterEach(() => closers.close());

/** Creates the residue of three sandboxes, and foreign files in the same folders. */
async function plant(): Promise<void> {
  for (const id of [UNKNOWN, ALIVE, ENDED]) {
    await mkdir(state.workspace(id), { recursive: true });
    await writeFile(join(state.workspace(id), 'disk'), 'x');
  }
  for (const id of [UNKNOWN, ALIVE]) {
    await mkdir(state.credentialsOf(id), { recursive: true });
    await writeFile(join(state.credentialsOf(id), 'id_ed25519'), 'secret');
    await mkdir(state.reservations, { recursive: true });
    await writeFile(state.reservationOf(id), JSON.stringify({ sandboxId: id, memoryMib: 64, diskBytes: 0 }));
  }
  const leases = [UNKNOWN, ALIVE].map((id, i) => `${macAddress(id)} 127.64.0.${i + 1} ${id}\n`);
  await writeFile(join(state.root, 'simulated.leases'), leases.join(''));
  for (const folder of [state.sandboxes, state.credentials, state.reservations]) {
    for (const foreign of ['backup', `${UNKNOWN}-old`, 'sbx-1', `old-${UNKNOWN}`]) {
      await mkdir(join(folder, foreign));
      await writeFile(join(folder, foreign, 'file'), 'not ours');
    }
  }
  // A link in a workspace points to a foreign folder.
  await mkdir(join(state.root, 'foreign'));
  await writeFile(join(state.root, 'foreign', 'file'), 'not ours');
  await symlink(join(state.root, 'foreign'), join(state.workspace(UNKNOWN), 'link'));
}

/** Creates folders of snapshots: complete ones, and with `.new` one that is being saved. */
async function plantSnapshots(...folders: string[]): Promise<void> {
  const spec = { sandboxId: ALIVE, kind: 'disk', savedAt: new Date(0).toISOString(), sha256: null };
  for (const folder of folders) {
    await mkdir(join(state.snapshots, folder, 'root'), { recursive: true });
    if (!folder.endsWith('.new')) await writeFile(join(state.snapshots, folder, 'spec.json'), JSON.stringify(spec));
  }
}

/** Lists all paths below the state folder. */
async function tree(): Promise<string[]> {
  const entries = await readdir(state.root, { recursive: true, withFileTypes: true });
  return entries.map((entry) => relative(state.root, join(entry.parentPath, entry.name))).sort();
}

async function doctor(args: string[] = [], more: NodeJS.ProcessEnv = {}): Promise<{ code: unknown; report: Report }> {
  const { code, out } = await runLine({ url: '' }, ['doctor', '--json', ...args], {
    env: { ...process.env, ...env, ...more },
  });
  return { code, report: JSON.parse(out) as Report };
}

async function doctorProcess(): Promise<{ code: unknown; report: Report }> {
  const child = new MayflyProcess(['doctor', '--json'], env);
  const report = JSON.parse(await child.line('"checks"')) as Report;
  return { code: await child.end(), report };
}

function layersOf({ residue = [] }: Report): string[] {
  return residue.map(({ sandboxId: id, observation }) => `${id} ${observation.layer}`).sort();
}

const RESIDUE = [
  ...['credentials', 'lease', 'record', 'workspace'].map((layer) => `${UNKNOWN} ${layer}`),
  `${ENDED} workspace`,
];

describe('mayfly doctor', () => {
  it('lists residue, and changes nothing', async () => {
    await plant();
    const before = await tree();
    const { code, report } = await doctorProcess();
    expect(layersOf(report)).toEqual(RESIDUE);
    expect({ code, healthy: report.healthy }).toEqual({ code: 1, healthy: false });
    expect(await tree()).toEqual(before);
  });

  it('creates nothing where there never was a sandbox', async () => {
    const { report } = await doctor(['--fix']);
    expect(report).toMatchObject({ healthy: true, residue: [] });
    expect(await tree()).toEqual([]);
  });

  it('--fix removes the marked residue of sandboxes that are not alive, and nothing else', async () => {
    await plant();
    const expected = (await tree()).filter((path) => {
      const [folder = '', name = ''] = path.split('/');
      const gone = [UNKNOWN, ENDED, `${UNKNOWN}.json`].includes(name);
      return !(gone && ['sandboxes', 'credentials', 'reservations'].includes(folder));
    });
    const { code, report } = await doctor(['--fix']);
    expect(report.residue?.every(({ removed }) => removed)).toBe(true);
    expect(code).toBe(0);
    const opened = ['installation.json', 'request.key', 'host.lock']; // created when the machine is opened for a removal
    expect((await tree()).filter((path) => !path.startsWith('images') && !opened.includes(path))).toEqual(expected);
    expect(await readFile(join(state.root, 'simulated.leases'), 'utf8')).toBe(
      `${macAddress(ALIVE)} 127.64.0.2 ${ALIVE}\n`,
    );
    expect(await readFile(join(state.root, 'foreign', 'file'), 'utf8')).toBe('not ours');
    expect((await doctor()).report).toMatchObject({ healthy: true, residue: [] });
  });

  it('inspects beside a host worker, and leaves the removal to that worker, which does not answer', async () => {
    await plant();
    const machine = await openHostMachine(readConfig(env), Failpoints.parse(undefined));
    closers.add('machine', () => machine.close());
    const before = await tree();
    expect(layersOf((await doctor()).report)).toEqual(RESIDUE);
    const { code, report } = await doctor(['--fix']);
    expect(report.notRemoved).toContain('cannot be reached');
    expect(layersOf(report)).toEqual(RESIDUE);
    expect(code).toBe(1);
    expect(await tree()).toEqual(before);
  });

  it('--fix removes failed and deleted snapshots, and keeps those that may be needed', async () => {
    const [ready, creating, failed, deleted, lost, unknown, half] = [1, 2, 3, 4, 5, 6, 7].map(snapshotId);
    await plantSnapshots(...[ready, failed, deleted, unknown].map(String), 'backup');
    await plantSnapshots(...[creating, lost, half].map((id) => `${id}.new`));
    const { code, report } = await doctor(['--fix']);
    expect(report.snapshots.found?.map(({ id, isSafe, removed }) => [id, isSafe, removed])).toEqual([
      [failed, true, true],
      [deleted, true, true],
      [lost, false, false],
      [unknown, false, false],
      [half, true, true],
    ]);
    expect({ code, healthy: report.healthy }).toEqual({ code: 1, healthy: false });
    const left = ['backup', ready, `${creating}.new`, `${lost}.new`, unknown];
    expect(new Set(await readdir(state.snapshots))).toEqual(new Set(left));
  });

  it('lists snapshots beside a host worker, and leaves the removal to it', async () => {
    await plantSnapshots(snapshotId(3));
    const machine = await openHostMachine(readConfig(env), Failpoints.parse(undefined));
    closers.add('machine', () => machine.close());
    const { report } = await doctor(['--fix']);
    expect(report).toMatchObject({ healthy: false, snapshots: { found: [{ id: snapshotId(3), removed: false }] } });
    expect(report.snapshots.notRemoved).toContain('cannot be reached');
    expect(await readdir(state.snapshots)).toEqual([snapshotId(3)]);
  });

  it("inspects no machine of another kind than its worker's, which would appear clean", async () => {
    await plant();
    const store = await connectStore(server.uri);
    closers.add('store', () => store.close());
    await store.hosts.describe(host('kvm-1', { kind: 'libvirt' }));
    const { code, report } = await doctor([], { MAYFLY_HOST_ID: 'kvm-1' });
    expect({ code, healthy: report.healthy, residue: report.residue }).toMatchObject({ code: 1, healthy: false });
    expect(report.residue).toBeUndefined();
    const said = report.checks.find(({ name }) => name === 'installation');
    expect(said).toMatchObject({ ok: false, remedy: 'MAYFLY_HOST=libvirt mayfly doctor' });
    await store.hosts.describe(host('kvm-1', { kind: 'simulated' }));
    const same = (await doctor([], { MAYFLY_HOST_ID: 'kvm-1' })).report;
    expect(same.checks.find(({ name }) => name === 'installation')).toMatchObject({ ok: true });
    expect(layersOf(same)).toEqual(RESIDUE);
  });

  it('reports no residue without a store', async () => {
    await plant();
    await plantSnapshots(snapshotId(3));
    const before = await tree();
    const { code, report } = await doctor(['--fix'], { MONGODB_URI: '' });
    expect(report.residue).toBeUndefined();
    expect(report.unknown).toContain('set MONGODB_URI');
    expect(report.snapshots.found).toBeUndefined();
    expect(code).toBe(1);
    expect(await tree()).toEqual(before);
  });
});
