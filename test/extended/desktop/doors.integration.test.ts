import type { Server } from 'node:http';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { apiServer } from '../../../api/server/api-server.ts';
import { type Door, openDoor } from '../../api/support.ts';
import { runLine } from '../../cli/run-line.ts';
import { SIZE, StandInScreen } from '../../desktop/stand-in-screen.ts';
import { connectClient } from '../../mcp/mcp-clients.ts';
import { listen } from '../../support/listen.ts';

// Promise: docs/ports-desktop.md by the command line and by MCP, which only call the API. Costs 5 s.
let screen: StandInScreen;
let door: Door;
let server: Server;
let url: string;
let key: string;
let id: string;

beforeAll(async () => {
  screen = new StandInScreen();
  door = await openDoor({ request: (...asked) => screen.request(...asked) });
  server = apiServer(door.app, pino({ level: 'silent' }));
  url = `http://127.0.0.1:${await listen(server)}`;
  key = await door.key('sandboxes:read', 'sandboxes:write');
  const made = await door.call('POST', '/v1/sandboxes', { source: 'golden' });
  ({ id } = (await made.json()) as { id: string });
  await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
});
beforeEach(() => {
  screen = new StandInScreen();
  screen.state = `1280 800\nx:5 y:6 screen:0 window:77\nactive:4194306
0x00400002  0 234    10   10   1050 780  chromium.Chromium     sbx-1 evil \u001b[31m\n`;
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await door?.close();
});

const line = (...args: string[]) =>
  runLine({ url }, ['desktop', ...args], { env: { MAYFLY_URL: url, MAYFLY_API_KEY: key } });

describe('mayfly desktop', () => {
  it.each([
    [['move', '3,4'], ['point 3,4 0']],
    [
      ['click', '3,4', '--double'],
      ['point 3,4 0', 'point 3,4 1', 'point 3,4 0', 'point 3,4 1', 'point 3,4 0'],
    ],
    [
      ['click', '3,4', '--right'],
      ['point 3,4 0', 'point 3,4 4', 'point 3,4 0'],
    ],
    [
      ['scroll', '1,1', '--down=-1'],
      ['point 1,1 0', 'point 1,1 8', 'point 1,1 0'],
    ],
    [
      ['type', 'a'],
      ['key 61 down', 'key 61 up'],
    ],
    [
      ['key', 'ctrl+l'],
      ['key ffe3 down', 'key 6c down', 'key 6c up', 'key ffe3 up'],
    ],
  ])('%j', async ([verb = '', ...rest], told) => {
    expect(await line(verb, id, ...rest)).toMatchObject({ code: 0, out: '', err: '' });
    expect(screen.told).toEqual(told);
  });

  it.each([
    ['click', 'x,4'],
    ['click', '3,4', '--right', '--middle'],
    ['scroll', '1,1', '--down=101'],
    ['screenshot'],
    ['stream', '--ttl', '2d'],
    ['open'],
  ])('%j %j is refused before any request', async (verb, ...rest) => {
    expect((await line(verb, id, ...rest)).code).toBe(2);
    expect(screen.connections).toBe(0);
  });

  it('writes a picture, and shows window titles without control characters', async () => {
    const { code, bytes } = await line('screenshot', id, '-o', '-');
    expect([code, bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([0, SIZE.width, SIZE.height]);
    const { out, err } = await line('windows', id);
    expect(err).toContain('screen 1280x800, pointer at 5,6');
    expect(out).toMatch(/0x00400002 +10,10 +1050x780 +yes +chromium\.Chromium +evil/);
    expect(out).not.toContain('\u001b');
  });

  it('prints the URL of the screen, and its expiry', async () => {
    const { code, out, err } = await line('stream', id, '--ttl', '15m');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^browser {3}http:\/\/6080-sbx-\w+\.localhost:\d+\/vnc\.html\?mayfly-token=mfp_\S+view_only=1\n/,
    );
    expect(out).toMatch(/\npassword {2}[a-zA-Z2-9]{8}\n$/);
    expect(err).toContain('sees the screen');
    expect((await line('stream', id, '--control')).out).not.toContain('view_only');
  });
});

it('the tool `desktop` answers each action with a picture, and windows as text', async () => {
  const client = await connectClient(url, key, '2026-07-28');
  try {
    const asked = (args: object) => client.callTool({ name: 'desktop', arguments: { sandboxId: id, ...args } });
    const clicked = await asked({ action: 'click', x: 3, y: 4 });
    const [said, picture] = clicked.content as { type: string; text?: string; data?: string; mimeType?: string }[];
    expect([said?.type, picture?.type, picture?.mimeType]).toEqual(['text', 'image', 'image/png']);
    expect(Buffer.from(picture?.data ?? '', 'base64').readUInt32BE(16)).toBe(SIZE.width);
    expect(screen.told).toEqual(['point 3,4 0', 'point 3,4 1', 'point 3,4 0']);
    const windows = await asked({ action: 'windows' });
    expect(JSON.stringify(windows.content)).toContain('chromium.Chromium: evil');
    expect(JSON.stringify(windows.content)).not.toContain('\\u001b');
    const refused = await asked({ action: 'click', x: 3 });
    expect(refused.isError).toBe(true);
    const opened = await asked({ action: 'open', text: 'javascript:alert(1)' });
    expect(opened.isError).toBe(true);
  } finally {
    await client.close();
  }
});
