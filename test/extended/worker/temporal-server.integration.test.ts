import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../../worker/servers/server-process.ts';
import { startTemporalServer } from '../../../worker/servers/temporal-server.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { eventually } from '../../support/eventually.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function folder(): Promise<string> {
  const { state, remove } = await temporaryState();
  ends.push(remove);
  return state.root;
}

/** Occupies a port. */
async function listenAt(port: number): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  await once(server, 'listening');
  ends.push(async () => server.close());
  return server;
}

test('a port in use is retried until it is free', async () => {
  const dir = await folder();
  const port = await freePort('127.0.0.1');
  const other = await listenAt(port);
  const started = startTemporalServer({ dir, port });
  await eventually(() => readFile(join(dir, 'temporal.log'), 'utf8').catch(() => ''), /address already in use/);
  other.close();
  const server = await started;
  ends.push(() => server.stop());
  expect([server.address, server.uiUrl]).toEqual([`127.0.0.1:${port}`, null]);
});

test('a port that stays in use is named in the error', async () => {
  const dir = await folder();
  const port = await freePort('127.0.0.1');
  await listenAt(port);
  await expect(startTemporalServer({ dir, port })).rejects.toMatchObject({
    code: 'temporal_unavailable',
    message: expect.stringMatching(/before it answered: .*address already in use.*its log is/),
  });
});

test('its database is in its folder, for any folder name', async () => {
  const root = await folder();
  for (const name of ['a#1', 'a?b', '50%41', 'a b&c', 'ü']) {
    const server = await startTemporalServer({ dir: join(root, name) });
    await server.stop();
    expect(await readdir(join(root, name))).toContain('temporal.db');
  }
  expect(await readdir(root)).not.toContain('a');
});
