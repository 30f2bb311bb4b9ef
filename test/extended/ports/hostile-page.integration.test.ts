import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { onPath } from '../../../worker/config/artifacts.mjs';
import { hostilePage } from '../../ports/hostile-page.ts';
import type { IngressDoor } from '../../ports/ingress-door.ts';
import { usePrograms } from '../../ports/programs.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';

/**
 * Promise: a page of an open port in a real browser reaches no other open port, nor the API, with any cookie of the
 * browser. Costs 10 s.
 */
const isThere = onPath('chromium') !== null;

let door: IngressDoor;
const folder = useFolder();
let browser: ChildProcess | undefined;
const programs = usePrograms((opened) => (door = opened));
afterAll(async () => {
  if (browser?.exitCode === null && browser.kill('SIGKILL')) await once(browser, 'close');
});

/** Program with its requests, and the results of its page. */
interface Program {
  port: number;
  token: string;
  seen: { url: string; cookie: string }[];
  results: Promise<Record<string, string>>;
}

async function program(page: (url: string) => string): Promise<Program> {
  const seen: Program['seen'] = [];
  let tell: (results: Record<string, string>) => void = () => {};
  const results = new Promise<Record<string, string>>((resolve) => {
    tell = resolve;
  });
  const serve = async (incoming: IncomingMessage, answer: ServerResponse) => {
    const { url = '', method, headers } = incoming;
    seen.push({ url, cookie: headers.cookie ?? '' });
    if (method === 'POST') tell(JSON.parse(await text(incoming)) as Record<string, string>);
    answer.setHeader('Content-Type', 'text/html');
    answer.end(page(url));
  };
  const port = await programs.serve(serve);
  return { port, token: await door.expose(port), seen, results };
}

const originOf = ({ port }: Program) => `http://${door.hostOf(port)}`;
const pathOf = ({ port }: Program) => `http://localhost:${door.listens}/${port}-${door.ports.id}`;

const NOTHING = {
  read: 'refused: TypeError',
  image: 'failed',
  script: 'failed',
  socket: 'failed',
  framed: 'closed',
  opened: 'no window',
  api: 'refused: TypeError',
  apiKey: 'refused: TypeError',
  apiPage: 'closed',
};

describe.skipIf(!isThere)('a hostile page in a browser that is logged in elsewhere', { tags: ['tool'] }, () => {
  test('reads, sends and opens nothing of another port or of the API', async () => {
    const api = door.ports.url;
    let next = '';
    const go = (url: string) => (url === '/login' ? `<script>location = ${JSON.stringify(next)}</script>` : 'own');
    const victim = await program(go);
    const again = `${originOf(victim)}/again`;
    const byPath = await program(() => hostilePage({ victim: pathOf(victim), api, next: again }));
    const thenByPath = `${pathOf(byPath)}/?mayfly-token=${byPath.token}`;
    const hostile = await program(() => hostilePage({ victim: originOf(victim), api, next: thenByPath }));
    next = `${originOf(hostile)}/?mayfly-token=${hostile.token}`;
    const argv = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${folder}`];
    browser = spawn('chromium', [...argv, `${originOf(victim)}/login?mayfly-token=${victim.token}`], {
      stdio: 'ignore',
      env: { ...process.env, TMPDIR: folder, HOME: folder },
    });

    expect(await hostile.results).toMatchObject({ ...NOTHING, cookie: '', storage: 'own' });
    const sandboxed = { cookie: 'refused: SecurityError', storage: 'refused: SecurityError' };
    expect(await byPath.results).toMatchObject({ ...NOTHING, ...sandboxed });
    // A link still sends the cookie: its absence was not the reason for the refusals.
    await eventually(
      async () => victim.seen,
      (seen) => seen.some(({ url }) => url === '/again'),
    );
    expect(victim.seen).toEqual([
      { url: '/login', cookie: '' },
      { url: '/again', cookie: '' },
    ]);
  });
});
