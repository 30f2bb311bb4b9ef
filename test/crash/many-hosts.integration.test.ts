// @module-tag full
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFinal } from '../../model/sandbox/sandbox.ts';
import { eventually } from '../support/eventually.ts';
import { Agreement } from './agreement.ts';
import { CrashInstallation } from './installation.ts';

const HOSTS = 3;
const ROOM = 50;
const ASKED = 200;
/** What other programs on this machine take or give back meanwhile, in sandboxes. */
const SWAY = 2 * HOSTS;
const WAIT = { waitSeconds: 120 };
const GOLDEN = 'golden-debian12';

let root: string;
let mayfly: CrashInstallation;
let agreement: Agreement;

beforeAll(async () => {
  root = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'hosts-'));
  mayfly = new CrashInstallation({ root, hostKind: 'simulated', hosts: HOSTS });
  await mayfly.start();
  const places = mayfly.hosts.map((_, nth) => ({ stateDir: mayfly.hostDir(nth), libvirtUri: null }));
  agreement = await Agreement.open(mayfly, places);
  await eventually(liveHosts, (live) => live === HOSTS);
});
afterAll(async () => {
  await agreement?.close();
  await mayfly?.stop();
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

/** So much memory that each of these hosts has room for a share of {@link ROOM}, as they say it themselves. */
async function memoryOfEach(): Promise<{ memoryMib: number; room: number }> {
  const { items } = await mayfly.client.listHosts();
  const free = items.map(({ capacity }) => capacity.memoryAvailableMib);
  const memoryMib = Math.floor((Math.min(...free) * 0.8) / Math.floor(ROOM / HOSTS));
  return { memoryMib, room: Math.floor(ROOM / HOSTS) * HOSTS };
}

test(`${ASKED} at once where there is room for fewer: as many as there is room for, and the rest are told to come back`, async () => {
  const { memoryMib, room } = await memoryOfEach();
  const one = async () => {
    const answer = await fetch(`${mayfly.apiUrl}/v1/sandboxes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await secret()}`, 'content-type': 'application/json', prefer: 'wait=240' },
      body: JSON.stringify({ source: GOLDEN, memoryMib }),
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
  expect(made).toBeGreaterThanOrEqual(room - SWAY); // memory that others take meanwhile is not given away
  expect(made).toBeLessThanOrEqual(room + SWAY);
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
  const lost = mayfly.hostId(1);
  const [theirs, others] = [true, false].map((isLost) => created.filter(({ hostId }) => (hostId === lost) === isLost));
  expect(theirs?.length).toBeGreaterThan(0);
  await mayfly.hosts[1]?.down();
  for (const { id } of others ?? []) {
    const ended = await mayfly.client.commands.run(id, { argv: ['true'] }, WAIT);
    expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(isFinal((await mayfly.client.destroySandbox(id, WAIT)).state)).toBe(true);
  }
  const waiting = await Promise.all(
    (theirs ?? []).map(({ id }) => mayfly.client.destroySandbox(id, { waitSeconds: 0 })),
  );
  expect(waiting.every(({ state }) => !isFinal(state))).toBe(true); // nobody has looked: nothing is proved
  mayfly.hosts[1]?.up();
  await destroyAll();
});
