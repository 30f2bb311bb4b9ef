import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../../api/app.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import { useCommandLine } from '../../support/command-line.ts';
import { type HttpServer, serveHttp } from '../../support/http-server.ts';
import { useFreshFolder } from '../../support/use-folder.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));
const mayfly = useMayfly();
const { cli } = useCommandLine(mayfly);
let http: HttpServer;
let env: NodeJS.ProcessEnv;
const temporary = useFreshFolder();
const children = new Set<ChildProcess>();

beforeAll(async () => {
  const { store, sagas } = mayfly();
  const guests = { request: () => Promise.reject(new Error('no guest is asked')) };
  const app = createApp({ store, sagas, guests, version: '0.0.0', logger: pino({ level: 'silent' }) });
  http = await serveHttp(app);
  const { secret } = await store.apiKeys.create({
    project: 'default',
    name: 'test',
    scopes: ['sandboxes:read', 'sandboxes:write'],
  });
  env = { ...process.env, MAYFLY_URL: http.url, MAYFLY_API_KEY: secret };
});
afterAll(() => http?.close());
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  expect(await keyFolders()).toEqual([]);
});

/** Lists folders of `mayfly ssh`; tsx keeps its own there. */
async function keyFolders(): Promise<string[]> {
  return (await readdir(temporary)).filter((name) => name.startsWith('mayfly-'));
}

function run(...args: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...env, TMPDIR: temporary, SSH_AUTH_SOCK: '/nowhere' },
    stdio: 'pipe',
  });
  children.add(child);
  const [out, err] = [text(child.stdout), text(child.stderr)];
  const ended = once(child, 'close').then(async ([code]) => ({ code: code as number, out: await out, err: await err }));
  return { child, ended };
}

test('a command has its own output, input and exit code', async () => {
  const { id } = await mayfly().create();
  const { child, ended } = run('ssh', id, '--', 'cat; echo err >&2; exit 7');
  child.stdin.end('through\n');
  expect(await ended).toEqual({ code: 7, out: 'through\n', err: 'err\n' });
});

test('the key is in a folder of its own while ssh runs, and deleted after a signal', async () => {
  const { id } = await mayfly().create();
  const { child, ended } = run('ssh', id, '--', 'echo in; sleep 60');
  await once(child.stdout, 'data');
  const [folder = ''] = await keyFolders();
  expect((await stat(join(temporary, folder))).mode & 0o777).toBe(0o700);
  expect((await stat(join(temporary, folder, 'key'))).mode & 0o777).toBe(0o600);
  child.kill('SIGTERM');
  expect((await ended).code).toBe(130);
});

test('two signals at once delete the key as well', async () => {
  const { id } = await mayfly().create();
  const { child, ended } = run('ssh', id, '--', 'echo in; trap "" HUP TERM; sleep 60');
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  child.kill('SIGTERM');
  expect((await ended).code).toBe(130);
});

test('a missing sandbox, and one that does not run, are reported as by the API', async () => {
  expect(await cli('ssh', 'sbx-0000000000000000')).toMatchObject({ code: 3, out: '' });
  expect(await cli('ssh', '-oProxyCommand=x')).toMatchObject({ code: 2 });
});

test('credentials are issued, listed and revoked', async () => {
  const { id } = await mayfly().create();
  const key = join(temporary, 'mine.pub');
  await writeFile(key, makeKeyPair('me').publicKey);
  try {
    const issued = await cli('credential', 'issue', id, key, '--ttl', '60', '--json');
    const { serial } = JSON.parse(issued.out) as { serial: string };
    const listed = await cli('credential', 'list', id);
    expect(listed.out.split('\n')[1]).toMatch(new RegExp(`^${serial} +caller +SHA256:`));
    expect(await cli('credential', 'revoke', id)).toMatchObject({ code: 2 });
    const revoked = await cli('credential', 'revoke', id, serial, '--json');
    expect(revoked.code).toBe(0);
    expect(JSON.parse(revoked.out)).toMatchObject({ items: [{ serial, refusedAt: expect.any(String) }] });
  } finally {
    await rm(key);
  }
});
