import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { domainUuid, ID_BYTES, sandboxIdFrom } from '../../../../model/ids.ts';
import { killedAfter } from '../../../host/libvirt/killed-step.ts';
import { stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { sweep } from '../../../support/sweep.ts';

const machine = useMachine();

const request = (sandboxId: string) => ({
  sandboxId,
  source: machine().source,
  snapshotId: null,
  cpus: null,
  memoryMib: null,
  egress: 'none' as const,
  userCaKeys: [],
});

sweep([5, 40, 90, 150])('killed %s ms into every step, the next worker completes it', async (ms) => {
  const { host, virsh, source } = machine();
  const id = sandboxIdFrom(randomBytes(ID_BYTES));
  await killedAfter(machine(), ms, 'cloneDisk', id, source);
  const clone = await host.cloneDisk(request(id), stepContext());
  expect(clone.hostKey).toMatch(new RegExp(` ${id}$`));
  await killedAfter(machine(), ms * 3, 'bootDomain', id, source);
  await host.bootDomain(id, stepContext());
  expect((await virsh.run(['domstate', id])).trim()).toBe('running');
  expect((await virsh.run(['domuuid', id])).trim()).toBe(domainUuid(id));
  await killedAfter(machine(), ms * 2, 'removeDomain', id, source);
  await host.removeDomain(id);
  await host.releaseLease(id);
  await killedAfter(machine(), ms, 'removeWorkspace', id, source);
  await host.removeWorkspace(id);
  expect((await host.look(id)).map((seen) => seen.absent)).toEqual([true, true, true]);
  expect((await host.marks()).filter((mark) => mark.sandboxId === id)).toEqual([]);
});

test('a missing libvirtd is reported as unavailable, and its VMs are found when it returns', async () => {
  const { host, libvirtd } = machine();
  const id = sandboxIdFrom(randomBytes(ID_BYTES));
  await host.cloneDisk(request(id), stepContext());
  await host.bootDomain(id, stepContext());
  await libvirtd.stop({ machines: false });
  const asks = [
    () => host.removeDomain(id),
    () => host.look(id),
    () => host.sources(),
    () => host.bootDomain(id, stepContext()),
  ];
  for (const ask of asks) {
    await expect(ask()).rejects.toMatchObject({ code: 'host_unavailable' });
  }
  await machine().restart();
  expect((await machine().virsh.run(['domstate', id])).trim()).toBe('running');
  await host.removeDomain(id);
  await host.releaseLease(id);
  await host.removeWorkspace(id);
  expect((await host.look(id)).map((seen) => seen.absent)).toEqual([true, true, true]);
});
