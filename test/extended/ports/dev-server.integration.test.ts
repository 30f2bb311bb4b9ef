import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IngressDoor } from '../../ports/ingress-door.ts';
import { upgradeRequest } from '../../ports/upgrade-request.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';

const VITE = resolve('node_modules/vite/bin/vite.js');

let door: IngressDoor;
const folder = useFolder();
let vite: ChildProcess;
let port: number;

beforeAll(async () => {
  door = await IngressDoor.open();
  await writeFile(join(folder, 'index.html'), '<h1>here</h1><script type="module" src="/main.js"></script>');
  await writeFile(join(folder, 'main.js'), 'export const n = 1;\nimport.meta.hot.accept();\n');
  vite = spawn(process.execPath, [VITE, '--port', '0', '--clearScreen', 'false'], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
  });
  let said = '';
  vite.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const local = () => /localhost:(\d+)/.exec(said)?.[1];
  port = Number(
    await eventually(
      async () => local(),
      (found) => found !== undefined,
    ),
  );
});
afterAll(async () => {
  const gone = vite && once(vite, 'exit');
  vite?.kill('SIGTERM');
  await gone;
  await door?.close();
});

// Case 1 of the ports of issue 15.
test('Vite works without settings: its page, its modules, and a hot reload', async () => {
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const sent = await door.get(host, `/?mayfly-token=${token}`);
  const cookie = (sent.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  const own = { cookie, 'sec-fetch-site': 'same-origin' };
  const page = await door.get(host, '/', { headers: { ...own, accept: 'text/html' } });
  expect(page.text).toContain('<h1>here</h1>');
  const script = await door.get(host, '/@vite/client', { headers: own });
  const [, wsToken = ''] = /wsToken = "([^"]+)"/.exec(script.text) ?? [];
  expect((await door.get(host, '/main.js', { headers: own })).text).toContain('n = 1');

  const socket = door.dial();
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
  const upgrade = { Origin: `http://${host}`, Cookie: cookie, 'Sec-WebSocket-Protocol': 'vite-hmr' };
  socket.write(upgradeRequest(host, `/?token=${wsToken}`, upgrade));
  await expect.poll(() => heard).toContain('{"type":"connected"}');
  await writeFile(join(folder, 'main.js'), 'export const n = 2;\nimport.meta.hot.accept();\n');
  await expect.poll(() => heard).toContain('"path":"/main.js"');
  expect((await door.get(host, '/main.js', { headers: own })).text).toContain('n = 2');
  socket.destroy();
});
