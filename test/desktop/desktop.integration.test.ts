import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../model/limits.ts';
import { passwordsOf } from '../../services/desktop/rfb/password.ts';
import { readPortToken } from '../../services/ports/port-token.ts';
import { type Door, openDoor } from '../api/support.ts';
import { eventually } from '../support/eventually.ts';
import { SIZE, StandInScreen } from './stand-in-screen.ts';

// Guards docs/ports-desktop.md with a VNC server of ours. With a real one: worker/desktop.e2e. Costs 4 s.

let screen: StandInScreen;
let door: Door;
let id: string;

beforeAll(async () => {
  screen = new StandInScreen();
  door = await openDoor({ request: (...asked) => screen.request(...asked) });
  const made = await door.call('POST', '/v1/sandboxes', { source: 'golden' });
  ({ id } = (await made.json()) as { id: string });
  await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
});
beforeEach(() => {
  screen = new StandInScreen();
});
afterAll(() => door?.close());

const path = (more: string) => `/v1/sandboxes/${id}/desktop${more}`;
const act = (body: unknown, headers: Record<string, string> = {}) => door.call('POST', path('/actions'), body, headers);
const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;

describe('a screenshot', () => {
  it("is a PNG of the screen's size, and its connection ends", async () => {
    const answer = await door.call('GET', path('/screenshot'));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
    const png = Buffer.from(await answer.arrayBuffer());
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([SIZE.width, SIZE.height]);
    expect(screen.areEnded).toBe(true);
  });

  it('waits for a starting desktop, and is refused at once without one', async () => {
    screen.closed = 2;
    expect((await door.call('GET', path('/screenshot'))).status).toBe(200);
    screen.file = null;
    const answer = await door.call('GET', path('/screenshot'));
    expect([answer.status, await codeOf(answer)]).toEqual([409, 'no_desktop']);
    screen = new StandInScreen();
    screen.closed = 1_000;
    const late = await door.call('GET', path('/screenshot'), undefined, { Prefer: 'wait=0' });
    expect([late.status, await codeOf(late)]).toEqual([502, 'desktop_unavailable']);
  });

  it('is limited in concurrency: each may take 34 MiB', async () => {
    let release = () => {};
    screen.held = new Promise((resolve) => (release = resolve));
    const all = Array.from({ length: LIMITS.desktop.screens }, () => door.call('GET', path('/screenshot')));
    await eventually(async () => screen.connections, LIMITS.desktop.screens);
    const more = await door.call('GET', path('/screenshot'));
    expect([more.status, more.headers.get('retry-after')]).toEqual([429, '1']);
    release();
    for (const answer of await Promise.all(all)) expect(answer.status).toBe(200);
    expect((await door.call('GET', path('/screenshot'))).status).toBe(200);
  });
});

describe('an action', () => {
  it.each<[object, string[]]>([
    [{ action: 'move', x: 3, y: 4 }, ['point 3,4 0']],
    [{ action: 'move', x: 30_000, y: 30_000 }, ['point 39,29 0']],
    [{ action: 'click', x: 3, y: 4 }, ['point 3,4 0', 'point 3,4 1', 'point 3,4 0']],
    [
      { action: 'click', x: 3, y: 4, button: 'right', count: 2 },
      ['point 3,4 0', 'point 3,4 4', 'point 3,4 0', 'point 3,4 4', 'point 3,4 0'],
    ],
    [
      { action: 'scroll', x: 1, y: 1, down: -1, right: 1 },
      ['point 1,1 0', 'point 1,1 8', 'point 1,1 0', 'point 1,1 64', 'point 1,1 0'],
    ],
    [{ action: 'key', keys: 'ctrl+Page_Up' }, ['key ffe3 down', 'key ff55 down', 'key ff55 up', 'key ffe3 up']],
    [
      { action: 'type', text: '\\"\n' },
      ['key 5c down', 'key 5c up', 'key 22 down', 'key 22 up', 'key ff0d down', 'key ff0d up'],
    ],
    [
      { action: 'type', text: 'a\tř' },
      [
        'key 61 down',
        'key 61 up',
        'key ff09 down',
        'key ff09 up',
        'key ffe1 down',
        'key ff63 down',
        'key ff63 up',
        'key ffe1 up',
      ],
    ],
  ])('%j', async (action, told) => {
    const answer = await act(action);
    expect([answer.status, await answer.json()]).toEqual([200, SIZE]);
    // The clipboard does not use keys.
    expect(screen.told.filter((line) => !line.startsWith('copied'))).toEqual(told);
  });

  it.each([
    ['a\třb', 'ř'],
    ['漢 a\nř', '漢 a\nř'],
    ['abc', undefined],
  ])('%j is pasted as %j', async (text, pasted) => {
    await act({ action: 'type', text });
    expect(screen.told.find((line) => line.startsWith('copied'))).toBe(pasted && `copied ${pasted}`);
  });

  it('drags through intermediate points', async () => {
    await act({ action: 'drag', x: 0, y: 0, toX: 20, toY: 10 });
    expect(screen.told).toHaveLength(13);
    expect(screen.told.slice(-3)).toEqual(['point 18,9 1', 'point 20,10 1', 'point 20,10 0']);
  });

  it.each(['', 'no\n', 'nothing\n', 'taken\n', 'taken\nignored\n', 'taken\noffered\nignored\n'])(
    'fails when the guest did not accept the paste: %j, and types nothing after it',
    async (said) => {
      screen.taken = said;
      const answer = await act({ action: 'type', text: 'řa' });
      expect([answer.status, await codeOf(answer)]).toEqual([409, 'desktop_uncertain']);
      expect(screen.told).not.toContain('key 61 down');
    },
  );

  it.each([
    ['taken\nfetched\n', 1],
    ['taken\noffered\nfetched\n', 2],
  ])('pastes again when the program has given up: %j', async (said, times) => {
    screen.taken = said;
    expect((await act({ action: 'type', text: 'řa' })).status).toBe(200);
    const insert = screen.told.filter((line) => line === 'key ff63 down');
    expect([insert.length, screen.told.at(-1)]).toEqual([times, 'key 61 up']);
  });

  it('runs once per key, and an uncertain result is an error', async () => {
    const key = { 'Idempotency-Key': 'one' };
    const click = { action: 'click', x: 1, y: 1 };
    expect((await act(click, key)).status).toBe(200);
    const again = await act(click, key);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(screen.told).toHaveLength(3);
    expect((await act({ action: 'click', x: 2, y: 2 }, key)).status).toBe(422);

    screen.taken = 'no\n';
    const text = { action: 'type', text: 'ř' };
    expect(await codeOf(await act(text, { 'Idempotency-Key': 'two' }))).toBe('desktop_uncertain');
    expect(await codeOf(await act(text, { 'Idempotency-Key': 'two' }))).toBe('desktop_uncertain');

    screen.closed = 1_000;
    const soon = { 'Idempotency-Key': 'three', Prefer: 'wait=0' };
    expect(await codeOf(await act(click, soon))).toBe('desktop_unavailable');
    screen.closed = 0;
    expect((await act(click, soon)).status).toBe(200);
  });

  it.each<[object | string]>([
    [{ action: 'explode' }],
    [{ action: 'click', x: -1, y: 0 }],
    [{ action: 'click', x: 0.5, y: 0 }],
    [{ action: 'click', x: 0, y: 40_000 }],
    [{ action: 'click', x: 0, y: 0, count: 9 }],
    [{ action: 'click', x: 0, y: 0, more: 1 }],
    [{ action: 'scroll', x: 0, y: 0, down: 101 }],
    [{ action: 'key', keys: 'ctrl+nosuch' }],
    [{ action: 'key', keys: 'a+b+c+d+e+f' }],
    [{ action: 'type', text: '' }],
    [{ action: 'type', text: '\u0003' }],
    [{ action: 'type', text: '\ud800' }],
    [{ action: 'type', text: 'x'.repeat(10_001) }],
    [[]],
  ])('invalid body %# is refused, and nothing is done', async (body) => {
    const answer = await act(body);
    expect([answer.status, await codeOf(answer)]).toEqual([422, 'invalid_request']);
    expect(screen.connections).toBe(0);
  });

  it('needs the write scope, and a policy that lets anything run', async () => {
    const reader = await door.key('sandboxes:read');
    expect((await door.call('POST', path('/actions'), { action: 'move', x: 1, y: 1 }, {}, reader)).status).toBe(403);
    expect((await door.call('GET', path('/screenshot'), undefined, {}, reader)).status).toBe(200);
    const rules = [{ name: 'no-nc', when: { command: 'nc' }, effect: 'ask' }];
    expect((await door.call('PUT', '/v1/policies', { rules })).status).toBeLessThan(300);
    try {
      for (const [more, body] of [
        ['/actions', { action: 'key', keys: 'Enter' }],
        ['/streams', { mode: 'control' }],
      ] as const) {
        const answer = await door.call('POST', path(more), body);
        expect([answer.status, await codeOf(answer)]).toEqual([403, 'policy_denied']);
      }
      expect((await door.call('POST', path('/streams'), { mode: 'view' })).status).toBe(201);
    } finally {
      await door.call('PUT', '/v1/policies', { rules: [] });
    }
    expect(screen.connections).toBe(1);
  });
});

it('the audit names viewers, once a minute, and actions, without texts', async () => {
  await act({ action: 'type', text: 'hunter2' });
  const audit = await door.call('GET', `/v1/sandboxes/${id}/audit?limit=200`);
  const { items } = (await audit.json()) as { items: { body: string }[] };
  const told = items.map(({ body }) => JSON.parse(body) as { kind: string; detail: object });
  expect(told.filter(({ kind }) => kind === 'desktop.seen').length).toBeLessThanOrEqual(2);
  expect(told.filter(({ kind }) => kind === 'desktop.used').at(-1)?.detail).toMatchObject({
    action: 'type',
    characters: 7,
  });
  expect(JSON.stringify(told)).not.toContain('hunter2');
});

describe('windows', () => {
  it('are listed as the guest reports them, their titles as plain text', async () => {
    const title = 'evil \u001b[31m 漢';
    screen.state = `1280 800\nx:5 y:6 screen:0 window:77\nactive:4194306
0x00400002  0 234    10   10   1050 780  chromium.Chromium     sbx-1 ${title}
0x00400003  0 0    -10   10   1050 780  a.b     sbx-1
nonsense
`;
    const answer = await door.call('GET', path(''));
    const [first, second, ...rest] = ((await answer.json()) as { windows: object[] }).windows;
    expect(first).toEqual({
      id: '0x00400002',
      pid: 234,
      class: 'chromium.Chromium',
      title: 'evil \u{fffd}[31m 漢',
      x: 10,
      y: 10,
      width: 1_050,
      height: 780,
      isActive: true,
    });
    expect(second).toMatchObject({ pid: null, x: -10, title: '', isActive: false });
    expect(rest).toEqual([]);
  });

  it.each(['', 'x'.repeat(70_000), '1280 800\n'])('in an invalid report are an error: %#', async (state) => {
    screen.state = state;
    expect(await codeOf(await door.call('GET', path('')))).toBe('desktop_unavailable');
  });
});

it('a stream has its own password for its mode, which replaces the previous one', async () => {
  const stream = async (mode: string) =>
    (await door.call('POST', path('/streams'), { mode })).json() as Promise<{ password: string }>;
  const passwords = () => passwordsOf(screen.file ?? Buffer.alloc(16));
  const { password: view } = await stream('view');
  expect(passwords()).toEqual({ control: 'secret12', view });
  const { password: control } = await stream('control');
  expect(passwords()).toEqual({ control, view });
  expect((await stream('view')).password).not.toBe(view);
  expect(control).toMatch(/^[a-zA-Z2-9]{8}$/);
  expect((await door.call('POST', path('/streams'), { mode: 'both' })).status).toBe(422);
});

it('a stream has a URL with a token of its port, valid only with the token', async () => {
  const { store } = door;
  await store.exposedPorts.closeAll(id);
  const answer = await door.call('POST', path('/streams'), { mode: 'view', ttlSeconds: 60 });
  const { url, port, expiresAt } = (await answer.json()) as { url: string; port: number; expiresAt: string };
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const { hostname, pathname, searchParams } = new URL(url);
  expect([hostname, pathname, searchParams.get('view_only')]).toEqual([`6080-${id}.localhost`, '/vnc.html', '1']);
  const opened = await store.exposedPorts.get({ sandboxId: id, port });
  expect(opened).toMatchObject({ visibility: 'token', cors: false, wake: false });
  const claims = opened && readPortToken(opened, searchParams.get('mayfly-token') ?? '');
  expect(new Date((claims?.expires ?? 0) * 1_000).toISOString()).toBe(expiresAt);
  // An explicit close or other visibility of the port is respected.
  await store.exposedPorts.closeAll(id);
  await door.call('POST', `/v1/sandboxes/${id}/ports`, { port, visibility: 'project' });
  const before = Buffer.from(screen.file ?? []);
  expect(await codeOf(await door.call('POST', path('/streams'), { mode: 'view' }))).toBe('port_open');
  expect(screen.file).toEqual(before);
  await store.exposedPorts.closeAll(id);
});

it('an opened program is a command of the sandbox, subject to policy', async () => {
  const bad = [
    {},
    { url: 'javascript:alert(1)' },
    { url: 'https://a b' },
    { argv: [] },
    { url: 'https://a.example', argv: ['xterm'] },
  ];
  for (const body of bad) expect((await door.call('POST', path('/open'), body)).status).toBe(422);
  const opened = await door.call('POST', path('/open'), { url: 'https://a.example/' }, { Prefer: 'wait=0' });
  expect([opened.status, await opened.text()]).toEqual([202, expect.anything()]);
  const { items } = (await (await door.call('GET', `/v1/sandboxes/${id}/commands`)).json()) as {
    items: { spec: { argv: string[] } }[];
  };
  expect(items[0]?.spec.argv).toEqual(['setsid', '--fork', 'chromium', '--', 'https://a.example/']);
});
