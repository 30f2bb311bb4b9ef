import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Desktop } from '../../../clients/typescript/http/openapi.ts';
import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';

type DesktopWindow = Desktop['windows'][number];

import { ByteReader } from '../../../services/desktop/rfb/byte-reader.ts';
import { VncClient } from '../../../services/desktop/rfb/screen.ts';
import { goldenImage } from '../../../worker/config/artifacts.mjs';
import { PAGE, PAGE_FOLDER, PAGE_PORT, SERVER, TYPED } from '../../desktop/guest-page.ts';
import { pixelsOf } from '../../desktop/png-pixels.ts';
import { WebSocketClient } from '../../desktop/web-socket.ts';
import { forwarded } from '../../ports/port-door.ts';
import { eventually } from '../../support/eventually.ts';
import { MayflyProcess } from '../../support/mayfly-process.ts';
import { letTimePass } from '../../support/passage-of-time.ts';
import { HOST_ID } from '../../support/served.ts';
import { useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

/**
 * Promise: docs/ports-desktop.md on a real VM: a page is seen, clicked and read back; characters of all kinds arrive; a
 * viewer changes nothing; noVNC on an open port stays connected. Needs the image: `npm run setup -- --only desktop`,
 * some minutes, once. Costs 12 minutes, 10 of them quiet for noVNC.
 */
const IMAGE = 'desktop-debian12';
const IDLE_MS = 600_000;
const LINE = '\\"ř漢😀';
const ROUNDS = 20;
describe.skipIf(!goldenImage(IMAGE))('a desktop', { tags: ['tool'] }, () => {
  const mayfly = useServedOnLibvirt();

  let id: string;
  let noVnc: WebSocketClient;
  let quietSince: number;
  let nextByte: Promise<number>;
  const desktop = () => mayfly().client.desktop;

  beforeAll(async () => {
    const { client, cliEnv, state } = mayfly();
    const host = { MAYFLY_STATE_DIR: join(state.root, 'host'), MAYFLY_LIBVIRT_URI: 'private', MAYFLY_HOST_ID: HOST_ID };
    const pull = new MayflyProcess(['image', 'pull', 'desktop'], { ...cliEnv, ...host });
    expect(await pull.end(), pull.output).toBe(0);
    const wish = { source: IMAGE, memoryMib: 2_048, cpus: 2, ttlSeconds: 3_600 };
    ({ id } = await client.createSandbox(wish, { waitSeconds: 280 }));
    await run(`mkdir -p ${PAGE_FOLDER}`);
    await client.files.write(id, `${PAGE_FOLDER}/index.html`, Buffer.from(PAGE));
    await client.files.write(id, '/home/sandbox/server.py', Buffer.from(SERVER));
    await run('setsid --fork python3 /home/sandbox/server.py >/dev/null 2>&1');
    await eventually(
      () => desktop().look(id).catch(notYet),
      (state) => state !== null,
    );
  });

  /** Ignores an unavailable desktop: an emulated guest starts its screen later than a request waits. */
  function notYet(error: unknown): null {
    if (error instanceof MayflyApiError && error.problem.code === 'desktop_unavailable') return null;
    throw error;
  }

  async function run(command: string): Promise<string> {
    const { commands } = mayfly().client;
    const ran = await commands.run(id, { command }, { waitSeconds: 120 });
    expect(ran, command).toMatchObject({ exitCode: 0 });
    return text((await commands.output(id, ran.id, 'stdout')) as never);
  }

  async function read(path: string): Promise<string> {
    return text((await mayfly().client.files.read(id, path)).body as never);
  }

  /** Waits for the active window to match, and returns it. */
  async function active(wish: (window: DesktopWindow) => boolean): Promise<DesktopWindow> {
    const look = async () => (await desktop().look(id)).windows;
    const windows = await eventually(look, (all) => all.some((one) => one.isActive && wish(one)));
    return windows.find(({ isActive }) => isActive) as DesktopWindow;
  }

  async function openTerminal(file: string): Promise<void> {
    await desktop().open(id, { argv: ['xterm', '-T', file, '-e', `exec cat > ${file}`] });
    await active(({ title }) => title === file);
  }

  async function closeTerminal(file: string): Promise<void> {
    await desktop().act(id, { action: 'key', keys: 'ctrl+d' });
    await eventually(
      async () => (await desktop().look(id)).windows,
      (all) => all.every(({ title }) => title !== file),
    );
  }

  // Case 11, continued in the last test.
  test('noVNC is served at the returned URL', async () => {
    const { url, password } = await desktop().stream(id, { mode: 'view' });
    const { host, port, pathname, search } = new URL(url);
    const ask = (path: string, headers: Record<string, string>) => fetchAt(Number(port), path, { host, ...headers });
    const sent = await ask(`${pathname}${search}`, {});
    const location = `http://${host}/vnc.html?autoconnect=1&reconnect=1&resize=scale&view_only=1`;
    expect(sent).toMatchObject({ status: 303, location });
    const own = { cookie: sent.cookie, 'sec-fetch-site': 'same-origin' };
    expect((await ask(pathname, own)).text).toContain('noVNC');

    noVnc = await WebSocketClient.open(Number(port), '/websockify', { ...own, host, origin: `http://${host}` });
    expect(noVnc.head).toMatch(/^HTTP\/1\.1 101 /);
    const incoming = noVnc.messages();
    const wire = { write: (bytes: Uint8Array) => noVnc.send(bytes), end: () => noVnc.end(), incoming };
    const screen = await VncClient.open(wire, async () => password);
    expect((await screen.picture()).pixels).toHaveLength(1_280 * 800 * 4);
    quietSince = performance.now();
    nextByte = new ByteReader(incoming).u8(); // reads on, so that pings are answered as by a browser
  });

  // Case 10.
  test('typed text arrives complete in a terminal, twenty times of twenty', async () => {
    const file = '/home/sandbox/terminal';
    await openTerminal(file);
    for (let n = 0; n < ROUNDS; n++) {
      await desktop().act(id, { action: 'type', text: `${n} ${LINE}\n` });
      const wanted = Array.from({ length: n + 1 }, (_, nth) => `${nth} ${LINE}\n`).join('');
      await eventually(
        () => read(file),
        (got) => got.length >= wanted.length,
      );
      expect(await read(file)).toBe(wanted);
    }
    await closeTerminal(file);
  });

  test('the password to view changes nothing; the one to control does', async () => {
    const file = '/home/sandbox/looked-at';
    await openTerminal(file);
    const leads = await forwarded(mayfly().cliEnv, id, 5_901);
    const typed = async (mode: 'view' | 'control', keys: string) => {
      const { password } = await desktop().stream(id, { mode });
      const socket = connect({ port: leads.port, host: '127.0.0.1' });
      await once(socket, 'connect');
      const incoming = socket.iterator() as AsyncIterableIterator<Buffer>;
      const wire = { write: (bytes: Uint8Array) => void socket.write(bytes), end: () => void socket.end(), incoming };
      const screen = await VncClient.open(wire, async () => password);
      const { width, height } = screen;
      for (const key of keys) for (const isDown of [true, false]) screen.key(key.charCodeAt(0), isDown);
      for (const isDown of [true, false]) screen.key(0xff0d, isDown);
      await screen.settled();
      socket.destroy();
      return { width, height };
    };
    expect(await typed('view', 'secret')).toEqual({ width: 1_280, height: 800 });
    await typed('control', 'after');
    await eventually(
      () => read(file),
      (got) => got.endsWith('after\n'),
    );
    expect(await read(file)).toBe('after\n');
    await leads.end();
    await closeTerminal(file);
  });

  test.each([
    ['a file', `file://${PAGE_FOLDER}/index.html`, /^ready as a file/],
    ['its own HTTP server', `http://127.0.0.1:${PAGE_PORT}/`, /^ready - /],
  ])('a plain browser shows a page of %s', async (_kind, url, wanted) => {
    await desktop().open(id, { url });
    await active(({ title }) => wanted.test(title));
  });

  // Acceptance case.
  test('a page is seen, clicked, read back and typed into, twenty times of twenty', async () => {
    const seen = async () => pixelsOf(await desktop().screenshot(id));
    const red = await eventually(
      async () => (await seen()).middleOf('ff0000'),
      (place) => place !== null,
    );
    await desktop().act(id, { action: 'click', ...(red ?? { x: 0, y: 0 }) });
    await active(({ title }) => title.startsWith('clicked'));
    const after = await eventually(seen, (pixels) => pixels.middleOf('0000ff') !== null);
    expect(after.middleOf('ff0000')).toBeNull();

    await desktop().act(id, { action: 'click', ...(after.middleOf('00ff00') ?? { x: 0, y: 0 }) });
    await active(({ title }) => title.startsWith('focused'));
    let wanted = '';
    for (let n = 0; n < ROUNDS; n++) {
      const line = `${n} ${LINE}\n`;
      wanted += line;
      await desktop().act(id, { action: 'type', text: line });
      await eventually(
        () => read(TYPED).catch(() => ''),
        (got) => got.length >= wanted.length,
      );
      expect(await read(TYPED)).toBe(wanted);
    }
  }, 1_200_000);

  // Case 11.
  test('noVNC is connected after ten quiet minutes, and shows the screen', async () => {
    await letTimePass(Math.max(0, quietSince + IDLE_MS - performance.now()));
    expect(noVnc.isClosed).toBe(false);
    expect(noVnc.pings).toBeGreaterThanOrEqual(IDLE_MS / 30_000 - 2);
    noVnc.send(Buffer.from('03000000000000010001', 'hex')); // FramebufferUpdateRequest of one pixel
    expect(await nextByte).toBe(0); // FramebufferUpdate
    noVnc.end();
  }, 1_200_000);

  async function fetchAt(port: number, path: string, headers: Record<string, string>) {
    const asking = get({ port, host: '127.0.0.1', path, headers, agent: false });
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    const { location } = answer.headers;
    return { status: answer.statusCode, location, cookie: cookie.split(';')[0] ?? '', text: await text(answer) };
  }
});
