import { randomBytes } from 'node:crypto';
import { open, readFile, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { sha256Of } from '../../../../host/disk/base-digest.ts';
import type { Clone } from '../../../../host/hypervisor.ts';
import { savedMemoryFolder } from '../../../../host/libvirt/client/saved-memory.ts';
import { ID_BYTES, sandboxIdFrom } from '../../../../model/ids.ts';
import { killLibvirtd } from '../../../host/libvirt/killed-libvirtd.ts';
import { beginStep, killedAfter } from '../../../host/libvirt/killed-step.ts';
import { expectRightTime, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { listen } from '../../../support/listen.ts';
import { delayFault } from '../../../support/passage-of-time.ts';
import { qemusOf } from '../../../support/qemu-of.ts';
import { sweep } from '../../../support/sweep.ts';

/** Machine of all tests: each test continues with the machine of the previous one. */
const machine = useMachine();
let clone: Clone;
let image: string;
const id = sandboxIdFrom(randomBytes(ID_BYTES));

beforeAll(async () => {
  const { leaseFolder, ca, booted } = machine();
  image = join(savedMemoryFolder(leaseFolder), `${id}.save`);
  clone = await booted.wake(id, [ca.publicKey]);
  // counts in memory alone, in a process of this boot; appended, so that no read finds the file empty
  await run(
    'nohup sh -c "i=0; while :; do i=\\$((i+1)); echo \\$i >> /dev/shm/count; sleep 0.05; done" >/dev/null 2>&1 &',
  );
});

async function run(command: string): Promise<string> {
  const { address } = await machine().host.awaitLease(id, stepContext());
  return (await machine().ca.ssh(address, clone.hostKey, id, command)).stdout.trim();
}

const counted = async () => Number(await run('tail -n 1 /dev/shm/count'));
const whereabouts = async () => (await machine().host.whereabouts(id)).domain;

test('its RAM is freed, and it continues where it stopped, with another lease and the right time', async () => {
  const { host } = machine();
  const [count, bootId] = (await run('tail -n 1 /dev/shm/count; cat /proc/sys/kernel/random/boot_id')).split('\n');
  const before = await host.diskBytes(id);
  expect(await qemusOf(id)).toHaveLength(1);
  const began = performance.now();
  for (let twice = 0; twice < 2; twice++) await host.hibernate(id, stepContext());
  process.stderr.write(`hibernated twice in ${(performance.now() - began).toFixed(0)} ms\n`);
  expect(await whereabouts()).toBe('hibernated');
  expect(await qemusOf(id)).toEqual([]);
  const asleep = await host.diskBytes(id);
  expect(await host.residentMib(id)).toBe(0);
  expect(asleep - before).toBeGreaterThan(50_000_000);
  expect((await host.look(id))[0]).toMatchObject({
    layer: 'domain',
    absent: false,
    found: expect.stringContaining(image),
  });
  await host.releaseLease(id); // as after a sleep longer than its lease

  const woke = performance.now();
  for (let twice = 0; twice < 2; twice++) await host.wake(id, 'running', stepContext());
  process.stderr.write(`woken twice in ${(performance.now() - woke).toFixed(0)} ms\n`);
  expect(await whereabouts()).toBe('running');
  const askedAt = Date.now();
  const look = await run('cat /proc/sys/kernel/random/boot_id; tail -n 1 /dev/shm/count; date +%s');
  const [sameBoot, now, seconds] = look.split('\n');
  expectRightTime(seconds, askedAt);
  expect(sameBoot).toBe(bootId);
  expect(Number(now)).toBeGreaterThan(Number(count));
  expect(await host.diskBytes(id)).toBeLessThan(asleep - 50_000_000);
});

test('a paused machine is hibernated, and paused again when that is undone', async () => {
  const { host } = machine();
  await host.pause(id);
  await host.hibernate(id, stepContext());
  await host.wake(id, 'paused', stepContext());
  expect(await whereabouts()).toBe('paused');
  await host.wake(id, 'running', stepContext());
  expect(await whereabouts()).toBe('running');
});

const KILLED = [
  [150, 'repeated'],
  [500, 'taken back'],
  [500, 'repeated'],
  [150, 'taken back'],
] as const;
sweep(KILLED)('killed after %s ms, it is %s', async ([ms, end]) => {
  const { host } = machine();
  const count = await counted();
  await killedAfter(machine(), ms, 'hibernate', id, '');
  if (end === 'repeated') await host.hibernate(id, stepContext());
  await killedAfter(machine(), ms * 2, end === 'repeated' ? 'wake' : 'hibernate', id, '');
  await host.wake(id, 'running', stepContext());
  expect(await whereabouts()).toBe('running');
  expect(await counted()).toBeGreaterThan(count);
});

const CUT_OFF = [500, 250, 750].flatMap((ms) => [[ms, 'hibernate'] as const, [ms, 'wake'] as const]);
sweep(CUT_OFF)('a libvirtd that dies %s ms into a %s leaves a machine that runs or can wake', async ([ms, step]) => {
  const { host } = machine();
  const before = await counted();
  if (step === 'wake') await host.hibernate(id, stepContext());
  const kill = await beginStep(machine(), step, id, '');
  await delayFault(ms); // the moment of its death is varied here
  await killLibvirtd(machine());
  await kill();
  await machine().restart();
  if (step === 'hibernate') await host.hibernate(id, stepContext());
  await host.wake(id, 'running', stepContext());
  expect(await counted()).toBeGreaterThan(before);
});

/** Leaves the machine as a libvirtd that dies at the end of a save: QEMU has written all, and is stopped. */
async function saveBehindLibvirt(): Promise<void> {
  const drain = createServer((socket) => socket.resume());
  const port = await listen(drain);
  const ask = (execute: string, args: object = {}) =>
    machine().virsh.run(['qemu-monitor-command', id, JSON.stringify({ execute, arguments: args })]);
  await ask('migrate', { uri: `tcp:127.0.0.1:${port}` });
  await expect.poll(() => ask('query-migrate')).toContain('"status":"completed"');
  drain.close();
}

test('a machine whose memory was written, but not recorded, is hibernated anyway, or continues', async () => {
  const { host } = machine();
  const before = await counted();
  await saveBehindLibvirt();
  await host.hibernate(id, stepContext());
  await host.wake(id, 'running', stepContext());
  await saveBehindLibvirt();
  await host.wake(id, 'running', stepContext());
  expect(await counted()).toBeGreaterThan(before);
});

test('changed memory is refused, stays hibernated, and wakes after its repair', async () => {
  const { host } = machine();
  const before = await counted();
  const began = performance.now();
  await host.hibernate(id, stepContext());
  const tookMs = performance.now() - began;
  const hashing = performance.now();
  await sha256Of(image);
  const hashMs = performance.now() - hashing;
  process.stderr.write(`hibernated in ${tookMs.toFixed(0)} ms, of that hashed ${hashMs.toFixed(0)} ms\n`);
  const file = await open(image, 'r+');
  const at = Math.floor((await file.stat()).size / 2);
  const kept = (await file.read({ buffer: Buffer.alloc(262_144), position: at })).buffer;
  await file.write(randomBytes(kept.length), 0, kept.length, at);
  for (let twice = 0; twice < 2; twice++)
    await expect(host.wake(id, 'running', stepContext())).rejects.toMatchObject({
      code: 'wake_failed',
      message: expect.stringContaining('has changed'),
    });
  await host.hibernate(id, stepContext()); // as the workflow undoes a wake
  expect([await whereabouts(), await qemusOf(id)]).toEqual(['hibernated', []]);
  await file.write(kept, 0, kept.length, at);
  await file.close();
  await host.wake(id, 'running', stepContext());
  expect(await counted()).toBeGreaterThan(before);
});

test('unreadable memory is reported, never booted afresh, and kept; and a delete leaves no residue', async () => {
  const { host, virsh } = machine();
  await host.hibernate(id, stepContext());
  const saved = await readFile(image);
  await truncate(image, Math.floor(saved.length / 2));
  await expect(host.wake(id, 'running', stepContext())).rejects.toMatchObject({ code: 'wake_failed' });
  expect(await qemusOf(id)).toEqual([]);
  await writeFile(image, saved);
  const file = await open(image, 'r+');
  await file.write('LibvirtQemudPart', 0); // a save that was cut off: libvirt itself would boot the machine
  await file.close();
  await expect(host.wake(id, 'running', stepContext())).rejects.toMatchObject({
    code: 'wake_failed',
    message: expect.stringContaining('incomplete'),
  });
  expect((await virsh.run(['domstate', id])).trim()).toBe('shut off');
  await writeFile(image, saved);
  expect(await whereabouts()).toBe('hibernated');

  expect(
    (await host.marks()).filter((mark) => mark.sandboxId === id && mark.observation.layer === 'domain'),
  ).toHaveLength(1);
  await host.wake(id, 'running', stepContext());
  await killedAfter(machine(), 600, 'hibernate', id, ''); // a delete in the middle
  await host.removeDomain(id);
  expect((await host.look(id))[0]?.absent).toBe(true);
  await writeFile(image, 'an image whose domain is gone');
  expect((await host.look(id))[0]?.absent).toBe(false);
  for (let twice = 0; twice < 2; twice++) await host.removeDomain(id);
  await host.releaseLease(id);
  await host.removeWorkspace(id);
  expect((await host.look(id)).map((seen) => seen.absent)).toEqual([true, true, true]);
  await expect(host.hibernate(id, stepContext())).rejects.toMatchObject({ code: 'sandbox_not_running' });
  await expect(host.wake(id, 'running', stepContext())).rejects.toMatchObject({ code: 'sandbox_not_running' });
});
