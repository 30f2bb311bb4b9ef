import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MayflyClient } from '../../client/mayfly-client.ts';
import { exec } from '../../host/exec.ts';
import type { StateDir } from '../../host/state-dir.ts';
import { unprovenLayers } from '../../model/proof.ts';
import { isFinal, type SandboxRecord } from '../../model/sandbox.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { MayflyProcess, noProcessOf } from '../support/mayfly-process.ts';

const SOURCE = 'golden-debian12';
const INTERRUPTED = 130;

let state: StateDir;
let removeState: () => Promise<void>;
let latest: MayflyProcess | null = null;

beforeEach(async () => {
  ({ state, remove: removeState } = await temporaryState());
});
afterEach(async () => {
  await latest?.end('SIGKILL');
  await noProcessOf(state.root);
  await removeState();
});

/** Its servers are its own, whatever the test run was given. */
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

/** What `mayfly doctor` calls residue, while `mayfly up` runs. */
async function residue(): Promise<unknown> {
  const doctor = new MayflyProcess(['doctor', '--json'], environment());
  const report: unknown = JSON.parse(await doctor.line('"checks"'));
  await doctor.end();
  return report;
}

/** Logs in as an operator would, with plain ssh. */
async function hostnameOf({ id, ssh }: SandboxRecord): Promise<string> {
  if (!ssh) throw new Error(`${id} has no SSH endpoint`);
  const folder = state.credentialsOf(id);
  const options = ['BatchMode=yes', 'StrictHostKeyChecking=yes', `UserKnownHostsFile=${join(folder, 'known_hosts')}`];
  const how = ['-F', 'none', '-i', join(folder, 'id_ed25519'), '-p', String(ssh.port)];
  const strict = options.flatMap((option) => ['-o', option]);
  const { stdout } = await exec('ssh', [...how, ...strict, `${ssh.user}@${ssh.address}`, 'hostname']);
  return stdout.trim();
}

async function settled(client: MayflyClient, id: string): Promise<SandboxRecord> {
  for await (const record of client.watchSandbox(id))
    if (record.state === 'running' || isFinal(record.state)) return record;
  throw new Error(`nothing more was told of ${id}`);
}

async function destroyed(client: MayflyClient, id: string): Promise<void> {
  const record = await client.destroySandbox(id, { waitSeconds: 60 });
  expect(isFinal(record.state)).toBe(true);
  expect(unprovenLayers(record.proof?.observations ?? [])).toEqual([]);
}

describe('mayfly up', { timeout: 120_000 }, () => {
  it.each(['bootDomain.during', 'removeWorkspace.during'])(
    'killed at %s, and started again: what ran still runs, and what was begun comes to its end',
    async (moment) => {
      const before = up();
      const { apiKey: oldKey, ...served } = await before.serves();
      const first = await new MayflyClient({ ...served, apiKey: oldKey }).createSandbox(
        { source: SOURCE },
        { waitSeconds: 60 },
      );
      expect(first.state).toBe('running');
      expect(await before.end('SIGKILL')).toBe('SIGKILL');

      const killed = up({ MAYFLY_FAILPOINTS: `${moment}=kill` });
      const client = new MayflyClient(await killed.serves());
      const wait = moment.startsWith('remove') ? 60 : 0;
      const second = await client.createSandbox({ source: SOURCE }, { waitSeconds: wait });
      if (wait > 0) await client.destroySandbox(second.id, { waitSeconds: 0 });
      expect(await killed.end()).toBe('SIGKILL');
      expect(await hostnameOf(first)).toBe(first.id);

      const again = up();
      const { baseUrl, apiKey } = await again.serves();
      const after = new MayflyClient({ baseUrl, apiKey });
      await expect(new MayflyClient({ baseUrl, apiKey: oldKey }).listSandboxes()).rejects.toMatchObject({
        status: 401,
      });
      expect(await after.getSandbox(first.id)).toMatchObject({ state: 'running', ssh: first.ssh });
      expect(await hostnameOf(first)).toBe(first.id);
      const ended = await settled(after, second.id);
      if (ended.state === 'running') expect(await hostnameOf(ended)).toBe(second.id);
      else expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
      expect(await residue()).toMatchObject({ residue: [] });
      await Promise.all([first, second].map(({ id }) => destroyed(after, id)));
      for (const folder of [state.sandboxes, state.credentials, state.reservations])
        expect(await readdir(folder)).toEqual([]);

      expect(await again.end('SIGINT')).toBe(0);
      await noProcessOf(state.root, 0);
    },
  );

  it.each(['store: ready', 'control worker: ready'])('interrupted at "%s" stops what was started', async (moment) => {
    const starting = up();
    await starting.line(moment);
    expect(await starting.end('SIGINT')).toBe(INTERRUPTED);
    await noProcessOf(state.root, 0);
  });

  it('interrupted twice ends at once, and its servers with it', async () => {
    const running = up();
    await running.serves();
    running.send('SIGINT');
    await running.line('stopping');
    expect(await running.end('SIGINT')).toBe(INTERRUPTED);
    await noProcessOf(state.root);
  });
});
