import { chmod } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { exec } from '../../../host/os/exec.ts';
import type { StateDir } from '../../../host/state-dir.ts';
import { storeCheck } from '../../../worker/doctor/local-users.ts';
import { ownAddress } from '../../../worker/servers/loopback-guard.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { connectAsNobody, listenersOf, readableByNobody } from '../../support/local-user.ts';
import { MayflyProcess, noProcessOf } from '../../support/mayfly-process.ts';

const report = z.object({ checks: z.array(z.object({ name: z.string(), ok: z.boolean() })) });

let state: StateDir;
let removeState: () => Promise<void>;
let mayfly: MayflyProcess;
let baseUrl: string;
let client: MayflyClient;

function environment(): NodeJS.ProcessEnv {
  return {
    MAYFLY_HOST: 'simulated',
    MAYFLY_HOST_ID: 'local-user',
    MAYFLY_STATE_DIR: state.root,
    MAYFLY_API_PORT: '0',
    MONGODB_URI: '',
    TEMPORAL_ADDRESS: '',
  };
}

/** Returns the checks of `mayfly doctor` for closed access, by name. */
async function doctorSays(): Promise<Record<string, boolean>> {
  const doctor = new MayflyProcess(['doctor', '--json'], environment());
  const { checks } = report.parse(JSON.parse(await doctor.line('"checks"')));
  await doctor.end();
  return Object.fromEntries(checks.filter(({ name }) => name.endsWith(' closed')).map(({ name, ok }) => [name, ok]));
}

/** Flushes a chain of the nftables table, which itself stays. */
async function emptied(ip: string): Promise<void> {
  const table = `mayfly_${ip.replaceAll('.', '_')}`;
  await exec('nft', ['flush', 'chain', 'inet', table, 'output']);
}

beforeAll(async () => {
  ({ state, remove: removeState } = await temporaryState());
  await chmod(state.root, 0o711); // as `mayfly up` sets it: paths below are closed by their own modes
  mayfly = new MayflyProcess(['up', '--json'], environment());
  const served = await mayfly.serves();
  ({ baseUrl } = served);
  client = new MayflyClient(served);
});
afterAll(async () => {
  await mayfly.end('SIGINT');
  await noProcessOf(state.root);
  await removeState();
});

// ~10 s, mostly the start. Holds: a user with a login and without a key reaches no listener of `mayfly up`.
describe('a local user without rights', () => {
  it('gets no connection to Temporal, its inner services, its UI, or the store', async () => {
    const listeners = await listenersOf(mayfly.pid);
    const outcomes = await connectAsNobody(listeners);
    const open = listeners.filter((_, i) => outcomes[i] === 'connected');
    // The API, the ingress of open ports and the relay require a key; Temporal's ports and the store's sockets require
    // none.
    expect(open).toHaveLength(3);
    expect(open).toContainEqual({ host: '127.0.0.1', port: Number(new URL(baseUrl).port) });
    const ip = ownAddress(state.root);
    const ofTemporal = listeners.flatMap((target, i) => ('host' in target && target.host === ip ? [outcomes[i]] : []));
    expect(ofTemporal.length).toBeGreaterThanOrEqual(6); // 7 of server 1.32, 6 of 1.29
    expect(new Set(ofTemporal)).toEqual(new Set(['ECONNREFUSED']));
    const sockets = outcomes.filter((outcome) => outcome === 'EACCES');
    expect(sockets).toHaveLength(listeners.length - 3 - ofTemporal.length);
    expect(sockets.length).toBeGreaterThan(0);
  });

  it('reads nothing of the state folder while a sandbox runs, is saved and is destroyed', async () => {
    const { id } = await client.createSandbox({ source: 'golden-debian12' }, { waitSeconds: 60 });
    await client.snapshots.take(id, {}, { waitSeconds: 60 });
    const readable = await readableByNobody(state.root);
    await client.destroySandbox(id, { waitSeconds: 60 });
    expect(readable).toEqual([]);
  });

  it('is reported by doctor where access was opened', async () => {
    expect(await doctorSays()).toEqual({
      'Temporal is closed': true,
      'store is closed': true,
      'files are closed': true,
    });
    await chmod(state.images, 0o755);
    await emptied(ownAddress(state.root));
    expect(await doctorSays()).toEqual({
      'Temporal is closed': false,
      'store is closed': true,
      'files are closed': false,
    });
  });

  it.each([
    ['mongodb://127.0.0.1:27017/mayfly', false],
    ['mongodb://mayfly:secret@db:27017/mayfly', true],
    ['mongodb+srv://api:secret@db/mayfly', true],
    ['mongodb://%2Frun%2Fstore.sock/mayfly', true],
  ])('%s: the store is closed: %s', (uri, isClosed) => expect(storeCheck(uri).ok).toBe(isClosed));
});
