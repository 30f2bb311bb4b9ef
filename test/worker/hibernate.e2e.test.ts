import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { bootedSnapshot, useServedOnLibvirt } from '../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const LINES = 150;
const WANTED = Array.from({ length: LINES }, (_, n) => `line ${n + 1}\n`).join('');
const COUNTER = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo "line $i"; sleep 0.1; done`;

const mayfly = useServedOnLibvirt();
let sandboxId: string;

beforeAll(async () => {
  const snapshotId = await bootedSnapshot(mayfly());
  sandboxId = (await mayfly().client.createSandbox({ snapshotId, autoResume: true }, WAIT)).id;
});

/** Pids of the QEMU of the sandbox. */
async function machines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, n) => commands[n]?.includes(`guest=${sandboxId}`));
}

async function saved(): Promise<string[]> {
  return readdir(join(mayfly().state.root, 'host', 'libvirt', 'lib', 'qemu', 'save'));
}

async function promisedMib(): Promise<number> {
  const { items } = await mayfly().client.listHosts();
  return items[0]?.promised.memoryMib ?? -1;
}

/** A host describes itself every few seconds, and tells nobody. */
async function until(wish: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 30_000; !(await wish()); await sleep(200)) {
    if (Date.now() > deadline) throw new Error('never came so far');
  }
}

test('a counter goes on after a new command has woken it, whoever was killed meanwhile; its RAM was free', async () => {
  const { client } = mayfly();
  const { commands } = client;
  const counter = await commands.run(sandboxId, { command: COUNTER }, { waitSeconds: 0 });
  await until(async () => (await commands.get(sandboxId, counter.id)).stdout.bytes > 0);
  const before = await promisedMib();

  const hibernating = client.hibernateSandbox(sandboxId, WAIT);
  await until(async () => (await client.getSandbox(sandboxId)).state === 'hibernated' || (await saved()).length > 0);
  expect(await mayfly().host?.end('SIGKILL')).toBe('SIGKILL');
  mayfly().startHost();
  expect(await hibernating).toMatchObject({ state: 'hibernated', waitingFor: null });
  expect(await machines()).toEqual([]);
  expect(await saved()).toEqual([`${sandboxId}.save`]);
  await until(async () => (await promisedMib()) === 0);
  expect(before).toBeGreaterThan(0);

  const began = performance.now();
  const waking = [1, 2, 3].map((n) => commands.run(sandboxId, { argv: ['echo', String(n)] }, WAIT));
  await until(async () => (await machines()).length > 0);
  expect(await mayfly().host?.end('SIGKILL')).toBe('SIGKILL');
  mayfly().startHost();
  const answers = await Promise.all(waking);
  process.stderr.write(`used ${(performance.now() - began).toFixed(0)} ms after it was asked, with a kill between\n`);
  for (const answer of answers) expect(answer).toMatchObject({ outcome: 'exited', exitCode: 0 });
  expect(await saved()).toEqual([]);

  for await (const event of commands.follow(sandboxId, counter.id)) if ('ended' in event) break;
  expect(await commands.get(sandboxId, counter.id)).toMatchObject({ outcome: 'exited', exitCode: 0 });
  expect(await text(await commands.output(sandboxId, counter.id, 'stdout'))).toBe(WANTED);
  const { items } = await client.sandboxAudit(sandboxId, { limit: 200 });
  const kinds = items.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
  expect(kinds.filter((kind) => /hibernated|resumed/.test(kind))).toEqual(['sandbox.hibernated', 'sandbox.resumed']);
}, 400_000);

test('a delete of a hibernated one leaves nothing', async () => {
  const { client } = mayfly();
  expect(await client.hibernateSandbox(sandboxId, WAIT)).toMatchObject({ state: 'hibernated' });
  const ended = await client.destroySandbox(sandboxId, WAIT);
  expect(ended).toMatchObject({ state: 'destroyed' });
  expect(ended.proof?.observations.every(({ absent }) => absent)).toBe(true);
  expect([await machines(), await saved()]).toEqual([[], []]);
}, 120_000);
