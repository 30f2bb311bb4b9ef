import { execFile } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import { isCreateFinished, isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { Agreement } from '../../crash/agreement.ts';
import { CrashInstallation } from '../../crash/installation.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';

const run = promisify(execFile);

/** Capacity of each host in sandboxes, on a disk without other writers. */
const ROOMS = [17, 17, 16];
const ROOM = 50;
const ASKED = 200;
/** Disk reservation of one sandbox of the golden tree without overcommitment, MiB. */
const DISK_MIB = 64;
/** Returns the disk size: 80 % of the free space can be reserved, and half a sandbox is left over. */
const diskOf = (room: number) => Math.ceil(((room + 0.5) * DISK_MIB) / 0.8);
const WAIT = { waitSeconds: 120 };
/** 136 s on two idle cores, 270 s on busy ones. */
const SLOW_MS = 900_000;
const GOLDEN = 'golden-debian12';

const root = useFolder();
let mayfly: CrashInstallation;
let agreement: Agreement;

beforeAll(async () => {
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
afterEach(destroyAll);
afterAll(async () => {
  await agreement?.close();
  await mayfly?.stop();
  for (const nth of ROOMS.keys()) await run('umount', ['--lazy', mayfly.hostDir(nth)]);
});

async function liveHosts(): Promise<number> {
  return (await mayfly.client.listHosts()).items.filter(({ live }) => live).length;
}

async function reservedOn(nth: number): Promise<number> {
  return (await readdir(join(mayfly.hostDir(nth), 'reservations'))).length;
}

async function create(count: number): Promise<Sandbox[]> {
  const wish = { source: GOLDEN, memoryMib: 64 };
  return Promise.all(Array.from({ length: count }, () => mayfly.client.createSandbox(wish, WAIT)));
}

async function destroyAll(): Promise<void> {
  const { items } = await mayfly.client.listSandboxes({ alive: true, limit: 100 });
  await Promise.all(items.map(({ id }) => mayfly.client.destroySandbox(id, WAIT)));
  if (items.length === 0) return agreement.holds('nothing', 60_000);
  return destroyAll();
}

test(
  `${ASKED} at once where there is room for fewer: as many as there is room for, and the rest are told to come back`,
  async () => {
    const answers = await Promise.all(Array.from({ length: ASKED }, (_, nth) => finalAnswer(`many-${nth}`)));
    const made = answers.filter(({ status }) => status === 201).length;
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['capacity_exhausted']));
    const atOnce = refused.filter(({ status }) => status !== 202);
    expect(atOnce.every(({ status, retryAfter }) => status === 503 && Number(retryAfter) > 0)).toBe(true);
    const reserved = await Promise.all(mayfly.hosts.map((_, nth) => reservedOn(nth)));
    expect(reserved.reduce((sum, each) => sum + each, 0)).toBe(made);
    expect(made).toBe(ROOM);
    await agreement.holds('what is alive', 60_000);
  },
  SLOW_MS,
);

interface Answer {
  status: number;
  code: string | undefined;
  /** Seconds; null without the header. */
  retryAfter: string | null;
}

/** Returns the answer of a create; after a 202, its final outcome, since another request would be another create. */
async function finalAnswer(idempotencyKey: string): Promise<Answer> {
  const answer = await fetch(`${mayfly.apiUrl}/v1/sandboxes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await secret()}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
      prefer: `wait=${WAIT.waitSeconds}`, // a shorter wait gets 202 without Retry-After
    },
    body: JSON.stringify({ source: GOLDEN, memoryMib: 64 }),
  });
  const { status, headers } = answer;
  const told = (await answer.json()) as { code?: string; id: string };
  if (status !== 202) return { status, code: told.code, retryAfter: headers.get('retry-after') };
  const { state, failure } = await eventually(
    () => mayfly.client.getSandbox(told.id),
    (record) => isCreateFinished(record.state),
  );
  if (!isFinal(state)) return { status: 201, code: undefined, retryAfter: null };
  return { status: 202, code: failure?.code, retryAfter: null };
}

let made: string | null = null;
async function secret(): Promise<string> {
  made ??= (await mayfly.client.createKey({ name: 'many', scopes: ['operator'] })).secret;
  return made;
}

test('a host is killed under its sandboxes: those of others are used and destroyed, its own when it returns', async () => {
  const created = await create(9);
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
  expect(waiting.every(({ state }) => !isFinal(state))).toBe(true); // a proof needs an inspection
  host?.up();
});
