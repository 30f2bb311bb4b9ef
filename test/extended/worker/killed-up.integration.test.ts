import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { exec } from '../../../host/os/exec.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { MayflyProcess, noProcessOf, processesOf } from '../../support/mayfly-process.ts';
import { useFreshState } from '../../support/use-folder.ts';

const SOURCE = 'golden-debian12';
const INTERRUPTED = 130;

const state = useFreshState();
let latest: MayflyProcess | null = null;

afterEach(async () => {
  await latest?.end('SIGKILL');
  await noProcessOf(state.root);
});

/** Environment with servers of its own, for any settings of the test run. */
function environment(): NodeJS.ProcessEnv {
  return {
    MAYFLY_HOST: 'simulated',
    MAYFLY_HOST_ID: 'killed',
    MAYFLY_STATE_DIR: state.root,
    MAYFLY_API_PORT: '0',
    MAYFLY_LOG_LEVEL: 'error',
    MONGODB_URI: '',
    TEMPORAL_ADDRESS: '',
  };
}

function up(env: NodeJS.ProcessEnv = {}): MayflyProcess {
  latest = new MayflyProcess(['up', '--json'], { ...environment(), ...env });
  return latest;
}

/** Returns the report of `mayfly doctor` while `mayfly up` runs. */
async function residue(): Promise<unknown> {
  const doctor = new MayflyProcess(['doctor', '--json'], environment());
  const report: unknown = JSON.parse(await doctor.line('"checks"'));
  await doctor.end();
  return report;
}

/** Logs in with plain ssh, as an operator does. */
async function hostnameOf({ id, ssh }: Sandbox): Promise<string> {
  if (!ssh) throw new Error(`${id} has no SSH endpoint`);
  const folder = state.credentialsOf(id);
  const options = ['BatchMode=yes', 'StrictHostKeyChecking=yes', `UserKnownHostsFile=${join(folder, 'known_hosts')}`];
  const how = ['-F', 'none', '-i', join(folder, 'id_ed25519'), '-p', String(ssh.port)];
  const strict = options.flatMap((option) => ['-o', option]);
  const { stdout } = await exec('ssh', [...how, ...strict, `${ssh.user}@${ssh.address}`, 'hostname']);
  return stdout.trim();
}

async function created(client: MayflyClient, waitSeconds: number): Promise<Sandbox> {
  const record = await client.createSandbox({ source: SOURCE }, { waitSeconds });
  if (waitSeconds > 0) expect(record.state).toBe('running');
  return record;
}

async function settled(client: MayflyClient, id: string): Promise<Sandbox> {
  for await (const record of client.watchSandbox(id))
    if (record.state === 'running' || isFinal(record.state)) return record;
  throw new Error(`nothing more was told of ${id}`);
}

async function destroyed(client: MayflyClient, id: string): Promise<void> {
  const record = await client.destroySandbox(id, { waitSeconds: 60 });
  expect(isFinal(record.state)).toBe(true);
  expect(unprovenLayers(record.proof?.observations ?? [])).toEqual([]);
}

describe('mayfly up', () => {
  it('killed in a destroy and then in a create keeps machines running, and finishes both operations', async () => {
    const first = up({ MAYFLY_FAILPOINTS: 'removeWorkspace.during=kill' });
    const { baseUrl: firstUrl, apiKey: oldKey } = await first.serves();
    const before = new MayflyClient({ baseUrl: firstUrl, apiKey: oldKey });
    const [runs, goes] = await Promise.all([created(before, 60), created(before, 60)]);
    await before.destroySandbox(goes.id, { waitSeconds: 0 });
    expect(await first.end()).toBe('SIGKILL');
    expect(await hostnameOf(runs)).toBe(runs.id);

    const second = up({ MAYFLY_FAILPOINTS: 'bootDomain.during=kill' });
    const comes = await created(new MayflyClient(await second.serves()), 0);
    expect(await second.end()).toBe('SIGKILL');
    expect(await hostnameOf(runs)).toBe(runs.id);

    const last = up();
    const { baseUrl, apiKey } = await last.serves();
    const after = new MayflyClient({ baseUrl, apiKey });
    await expect(new MayflyClient({ baseUrl, apiKey: oldKey }).listSandboxes()).rejects.toMatchObject({ status: 401 });
    expect(await after.getSandbox(runs.id)).toMatchObject({ state: 'running', ssh: runs.ssh });
    expect(await hostnameOf(runs)).toBe(runs.id);
    for (const { id } of [goes, comes]) {
      const settledNow = await settled(after, id);
      if (settledNow.state === 'running') expect(await hostnameOf(settledNow)).toBe(id);
      else expect(unprovenLayers(settledNow.proof?.observations ?? [])).toEqual([]);
    }
    expect(await residue()).toMatchObject({ residue: [] });
    await Promise.all([runs, goes, comes].map(({ id }) => destroyed(after, id)));
    for (const folder of [state.sandboxes, state.credentials, state.reservations])
      expect(await readdir(folder)).toEqual([]);

    expect(await last.end('SIGINT')).toBe(0);
    expect(processesOf(state.root)).toEqual([]);
  });

  it.each(['store: ready', 'control worker: ready'])('interrupted at "%s" stops its processes', async (moment) => {
    const starting = up();
    await starting.line(moment);
    expect(await starting.end('SIGINT')).toBe(INTERRUPTED);
    expect(processesOf(state.root)).toEqual([]);
  });

  it('interrupted twice ends at once, with its servers', async () => {
    const running = up();
    await running.serves();
    running.send('SIGINT');
    await running.line('stopping');
    expect(await running.end('SIGINT')).toBe(INTERRUPTED);
    await noProcessOf(state.root);
  });
});
