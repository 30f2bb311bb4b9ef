// @module-tag full
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFinal } from '../../model/sandbox/sandbox.ts';
import { eventually } from '../support/eventually.ts';
import { Agreement } from './agreement.ts';
import { CrashInstallation } from './installation.ts';

const run = promisify(execFile);

/** How many sandboxes each host has room for on a disk that nobody else writes to. */
const ROOMS = [17, 17, 16];
const ROOM = 50;
const ASKED = 200;
/** Of the golden tree as its source describes it: what one sandbox is promised without overcommitment. MiB. */
const DISK_MIB = 64;
/** That much of what is free is promised; and half a sandbox is to be left over. */
const diskOf = (room: number) => Math.ceil(((room + 0.5) * DISK_MIB) / 0.8);
const WAIT = { waitSeconds: 120 };
const GOLDEN = 'golden-debian12';

let root: string;
let mayfly: CrashInstallation;
let agreement: Agreement;

beforeAll(async () => {
  root = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'hosts-'));
  const env = { MAYFLY_DISK_OVERCOMMIT: '1' };
  mayfly = new CrashInstallation({ root, hostKind: 'simulated', hosts: ROOMS.length, env });
  for (const [nth, room] of ROOMS.entries()) {
    await mkdir(mayfly.hostDir(nth));
    await run('mount', ['-t', 'tmpfs', '-o', `size=${diskOf(room)}m,mode=711`, 'tmpfs', mayfly.hostDir(nth)]);
  }
  await mayfly.start();
  const places = mayfly.hosts.map((_, nth) => ({ stateDir: mayfly.hostDir(nth), libvirtUri: null }));
  agreement = await Agreement.open(mayfly, places);
  await eventually(liveHosts, (live) => live === ROOMS.length);
});
afterAll(async () => {
  await agreement?.close();
  await mayfly?.stop();
  for (const nth of ROOMS.keys()) await run('umount', ['--lazy', mayfly.hostDir(nth)]);
  await rm(root, { recursive: true, force: true });
});

async function liveHosts(): Promise<number> {
  return (await mayfly.client.listHosts()).items.filter(({ live }) => live).length;
}

async function destroyAll(): Promise<void> {
  const { items } = await mayfly.client.listSandboxes({ alive: true, limit: 100 });
  await Promise.all(items.map(({ id }) => mayfly.client.destroySandbox(id, WAIT)));
  if (items.length === 0) return agreement.holds('nothing', 60_000);
  return destroyAll();
}

test(`${ASKED} at once where there is room for fewer: as many as there is room for, and the rest are told to come back`, async () => {
  const one = async () => {
    const answer = await fetch(`${mayfly.apiUrl}/v1/sandboxes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await secret()}`, 'content-type': 'application/json', prefer: 'wait=240' },
      body: JSON.stringify({ source: GOLDEN, memoryMib: 64 }),
    });
    const body = (await answer.json()) as { code?: string; id?: string };
    return { status: answer.status, code: body.code, retryAfter: answer.headers.get('retry-after') };
  };
  const answers = await Promise.all(Array.from({ length: ASKED }, one));
  const made = answers.filter(({ status }) => status === 201).length;
  const refused = answers.filter(({ status }) => status !== 201);
  expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(new Set(['503 capacity_exhausted']));
  expect(refused.every(({ retryAfter }) => Number(retryAfter) > 0)).toBe(true);
  const reserved = await Promise.all(
    mayfly.hosts.map(async (_, nth) => (await readdir(join(mayfly.hostDir(nth), 'reservations'))).length),
  );
  expect(reserved.reduce((sum, each) => sum + each, 0)).toBe(made);
  expect(made).toBe(ROOM);
  await agreement.holds('what is alive', 60_000);
  await destroyAll();
});

let made: string | null = null;
async function secret(): Promise<string> {
  made ??= (await mayfly.client.createKey({ name: 'many', scopes: ['admin'] })).secret;
  return made;
}

test('a host that is killed under its sandboxes: those of others are used and destroyed meanwhile, its own when it is back', async () => {
  const created = await Promise.all(
    Array.from({ length: 9 }, () => mayfly.client.createSandbox({ source: GOLDEN, memoryMib: 64 }, WAIT)),
  );
  const lost = created[0]?.hostId;
  const [theirs = [], others = []] = [true, false].map((isLost) =>
    created.filter(({ hostId }) => (hostId === lost) === isLost),
  );
  const host = mayfly.hosts.find((_, nth) => mayfly.hostId(nth) === lost);
  await host?.down();
  for (const { id } of others) {
    const ended = await mayfly.client.commands.run(id, { argv: ['true'] }, WAIT);
    expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(isFinal((await mayfly.client.destroySandbox(id, WAIT)).state)).toBe(true);
  }
  const waiting = await Promise.all(theirs.map(({ id }) => mayfly.client.destroySandbox(id, { waitSeconds: 0 })));
  expect(waiting.every(({ state }) => !isFinal(state))).toBe(true); // nobody has looked: nothing is proved
  host?.up();
  await destroyAll();
});
