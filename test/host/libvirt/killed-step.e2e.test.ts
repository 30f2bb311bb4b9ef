import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { domainUuid, ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import { killedAfter } from './killed-step.ts';
import { startMachine, type TestMachine } from './machine.ts';

let machine: TestMachine;
beforeAll(async () => {
  machine = await startMachine();
}, 120_000);
afterAll(async () => {
  await machine?.end();
}, 60_000);

const context = () => ({ signal: AbortSignal.timeout(60_000), alive: () => {} });
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
    await killedAfter(machine, ms, 'cloneDisk', id, source);
    const clone = await host.cloneDisk(request, context());
    expect(clone.hostKey).toMatch(new RegExp(` ${id}$`));
    await killedAfter(machine, ms * 3, 'bootDomain', id, source);
    await host.bootDomain(id, context());
    expect((await virsh.run(['domstate', id])).trim()).toBe('running');
    expect((await virsh.run(['domuuid', id])).trim()).toBe(domainUuid(id));
    await killedAfter(machine, ms * 2, 'removeDomain', id, source);
    await host.removeDomain(id);
    await host.releaseLease(id);
    await killedAfter(machine, ms, 'removeWorkspace', id, source);
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
