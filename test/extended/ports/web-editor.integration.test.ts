import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onPath } from '../../../worker/config/artifacts.mjs';
import { IngressDoor } from '../../ports/ingress-door.ts';
import { upgradeRequest } from '../../ports/upgrade-request.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';

/** Promise: docs/ports-desktop.md: Jupyter works at the URL of its port: page, saved file and terminal. Costs 10 s. */
const isThere = onPath('jupyter-lab') !== null;

let door: IngressDoor;
const folder = useFolder();
let jupyter: ChildProcess;
let port: number;
let own: string;

beforeAll(async () => {
  if (!isThere) return;
  door = await IngressDoor.open();
  const env = { ...process.env, HOME: folder };
  const argv = ['--no-browser', '--allow-root', '--port=0'];
  jupyter = spawn('jupyter-lab', argv, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  jupyter.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const found = () => /http:\/\/(?:localhost|127\.0\.0\.1):(\d+)\/\S*token=([0-9a-f]+)/.exec(said);
  const [, at = '', token = ''] = (await eventually(async () => found(), Boolean)) ?? [];
  port = Number(at);
  own = token;
});
afterAll(async () => {
  if (!isThere) return;
  const gone = once(jupyter, 'exit');
  jupyter.kill('SIGKILL');
  await gone;
  await door.close();
});

describe.skipIf(!isThere)('Jupyter without settings', { tags: ['tool'] }, () => {
  test('serves its page, saves a file, and opens a terminal', async () => {
    const token = await door.expose(port);
    const host = door.hostOf(port);
    const origin = `http://${host}`;
    const headers = { 'x-mayfly-token': token, authorization: `token ${own}`, origin };
    const page = await door.get(host, '/lab', { headers });
    expect(page.text).toContain('<title>');
    const file = JSON.stringify({ type: 'file', format: 'text', content: 'written\n' });
    const json = { ...headers, 'content-type': 'application/json' };
    const saved = await door.get(host, '/api/contents/a.txt', { method: 'PUT', headers: json }, file);
    expect([saved.status, await readFile(join(folder, 'a.txt'), 'utf8')]).toEqual([201, 'written\n']);

    const made = await door.get(host, '/api/terminals', { method: 'POST', headers: json });
    const { name } = JSON.parse(made.text) as { name: string };
    const socket = door.dial();
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    socket.write(upgradeRequest(host, `/terminals/websocket/${name}`, headers));
    await eventually(
      async () => heard,
      (text) => text.includes('["stdout", '),
    );
    expect(heard).toMatch(/^HTTP\/1\.1 101 /);
    socket.destroy();
  });
});
