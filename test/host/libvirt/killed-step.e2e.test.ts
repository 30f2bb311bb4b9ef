import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { domainUuid, ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import { startMachine, type TestMachine } from './machine.ts';

let machine: TestMachine;
beforeAll(async () => {
  machine = await startMachine();
}, 120_000);
afterAll(async () => {
  await machine?.end();
}, 60_000);

const context = () => ({ signal: AbortSignal.timeout(60_000), alive: () => {} });
const script = new URL('./step-process.ts', import.meta.url).pathname;

/** Runs a step in a process of its own and kills that so many ms after the step began. */
async function killedAfter(ms: number, step: string, id: string): Promise<void> {
  const { uri, state, leaseFolder, source } = machine;
  const argv = ['--import', 'tsx', script, uri, state.root, leaseFolder, step, id, source];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  await delay(ms); // the moment of death is what is varied here
  child.kill('SIGKILL');
  await ended;
}

test.each([5, 40, 90, 150])(
  'killed %i ms into every step, whoever comes next finishes it',
  async (ms) => {
    const { host, virsh, source } = machine;
    const id = sandboxIdFrom(randomBytes(ID_BYTES));
    const request = {
      sandboxId: id,
      source,
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      egress: 'none' as const,
      userCaKeys: [],
    };
    await killedAfter(ms, 'cloneDisk', id);
    const clone = await host.cloneDisk(request, context());
    expect(clone.hostKey).toMatch(new RegExp(` ${id}$`));
    await killedAfter(ms * 3, 'bootDomain', id);
    await host.bootDomain(id, context());
    expect((await virsh.run(['domstate', id])).trim()).toBe('running');
    expect((await virsh.run(['domuuid', id])).trim()).toBe(domainUuid(id));
    await killedAfter(ms * 2, 'removeDomain', id);
    await host.removeDomain(id);
    await host.releaseLease(id);
    await killedAfter(ms, 'removeWorkspace', id);
    await host.removeWorkspace(id);
    expect((await host.look(id)).map((seen) => seen.absent)).toEqual([true, true, true]);
    expect((await host.marks()).filter((mark) => mark.sandboxId === id)).toEqual([]);
  },
  60_000,
);

test('a daemon that is gone is said to be unavailable, and its VMs are found again when it is back', async () => {
  const { host, libvirtd, source } = machine;
  const id = sandboxIdFrom(randomBytes(ID_BYTES));
  const request = {
    sandboxId: id,
    source,
    snapshotId: null,
    cpus: null,
    memoryMib: null,
    egress: 'none' as const,
    userCaKeys: [],
  };
  await host.cloneDisk(request, context());
  await host.bootDomain(id, context());
  await libvirtd.stop({ machines: false });
  const asks = [
    () => host.removeDomain(id),
    () => host.look(id),
    () => host.sources(),
    () => host.bootDomain(id, context()),
  ];
  for (const ask of asks) {
    await expect(ask()).rejects.toMatchObject({ code: 'host_unavailable' });
  }
  await machine.restart();
  expect((await machine.virsh.run(['domstate', id])).trim()).toBe('running');
  await host.removeDomain(id);
  await host.releaseLease(id);
  await host.removeWorkspace(id);
  expect((await host.look(id)).map((seen) => seen.absent)).toEqual([true, true, true]);
}, 60_000);
