import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { createApp } from '../../../api/app.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { TestFunctions } from '../../support/functions.ts';
import { type HttpServer, serveHttp } from '../../support/http-server.ts';
import { PseudoTerminal } from '../../support/pseudo-terminal.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** `mayfly run open`: the disks of a failed run in a shell, without residue afterwards. */
const PROGRAM = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));
const { alone: test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
let http: HttpServer;
let env: NodeJS.ProcessEnv;
let snapshotId: string;
let runId: string;
beforeAll(async () => {
  const { store, sagas } = all();
  const guests = { request: () => Promise.reject(new Error('no guest is asked')) };
  http = await serveHttp(createApp({ store, sagas, guests, version: '0.0.0', logger: pino({ level: 'silent' }) }));
  env = { MAYFLY_URL: http.url, MAYFLY_API_KEY: door.secret };
  const functions = new TestFunctions(door);
  const name = await functions.deploy('echo evidence > ~/evidence; exit 3', { keep: { onFailure: 'disk' } });
  const { id, kept } = await functions.run(name);
  runId = id;
  snapshotId = kept?.snapshotId ?? '';
});
afterAll(async () => {
  await door.call('DELETE', `/v1/snapshots/${snapshotId}`, undefined, { Prefer: 'wait=60' });
  http.close();
});

const forks = async () =>
  (await all().store.sandboxes.list({ limit: 200 })).items.filter((one) => one.spec.snapshotId === snapshotId);
const open = (more = '') => `${process.execPath} ${PROGRAM} run open ${runId} ${more}`;

test('a shell shows the files of the process, and its sandbox ends with the shell', async () => {
  const terminal = new PseudoTerminal(`${open()}; echo "code $?"`, { env });
  try {
    await terminal.shows('goes with this shell');
    terminal.type('cat ~/evidence; exit 4\r');
    await terminal.ended();
    expect(terminal.raw).toContain('is gone');
    expect(terminal.raw).toContain('code 4');
    expect(terminal.raw).toContain('evidence');
  } finally {
    await terminal.end();
  }
  const made = await forks();
  expect(made).toMatchObject([{ state: 'destroyed', spec: { ttlSeconds: 3_600 } }]);
});

test('Ctrl-C during the create destroys the sandbox', async () => {
  const before = (await forks()).length;
  const terminal = new PseudoTerminal(`${open()}; echo "code $?"`, { env });
  try {
    await eventually(forks, (made) => made.length > before);
    terminal.type('\x03');
    await terminal.ended();
    expect(terminal.raw).toContain('code 130');
  } finally {
    await terminal.end();
  }
  await eventually(forks, (made) => made.every(({ state }) => isFinal(state)));
});
