import { expect, test } from 'vitest';
import { Failpoints } from '../../../host/failpoints.ts';
import { InMemoryHypervisor } from './driver.ts';
import { InMemoryGuests } from './guests.ts';
import { GOLDEN, InMemoryMachine } from './machine.ts';

const ID = 'sbx-0123456789abcdef';
const SNAPSHOT = 'snp-0123456789abcdef';
const context = { signal: new AbortController().signal, alive: () => {} };
const request = {
  source: GOLDEN,
  snapshotId: null,
  cpus: null,
  memoryMib: null,
  egress: 'none',
  userCaKeys: [],
} as const;
const save = { snapshotId: SNAPSHOT, sandboxId: ID, kind: 'disk' } as const;

function host() {
  const failpoints = Failpoints.parse(undefined);
  const machine = new InMemoryMachine();
  return { failpoints, machine, hypervisor: new InMemoryHypervisor(machine, failpoints) };
}

async function booted() {
  const made = host();
  const clone = await made.hypervisor.cloneDisk({ ...request, sandboxId: ID, userCaKeys: [] }, context);
  await made.hypervisor.bootDomain(ID, context);
  const lease = await made.hypervisor.awaitLease(ID, context);
  return { ...made, endpoint: { address: lease.address, port: lease.port, user: clone.user, hostKey: clone.hostKey } };
}

const present = async (hypervisor: InMemoryHypervisor) =>
  (await hypervisor.look(ID)).filter(({ absent }) => !absent).map(({ layer }) => layer);

test('what is there is seen, layer by layer, until it is removed', async () => {
  const { hypervisor } = await booted();
  expect(await present(hypervisor)).toEqual(['domain', 'lease', 'workspace']);
  expect((await hypervisor.marks()).map(({ sandboxId }) => sandboxId)).toEqual([ID, ID, ID]);
  await hypervisor.removeDomain(ID);
  expect(await present(hypervisor)).toEqual(['lease', 'workspace']);
  await hypervisor.releaseLease(ID);
  await hypervisor.removeWorkspace(ID);
  await hypervisor.removeWorkspace(ID);
  expect([await present(hypervisor), await hypervisor.marks()]).toEqual([[], []]);
});

test('half a clone is seen, and made whole by the next try', async () => {
  const { hypervisor, failpoints } = host();
  failpoints.arm('cloneDisk.during=1*error');
  const clone = () => hypervisor.cloneDisk({ ...request, sandboxId: ID, userCaKeys: [] }, context);
  await expect(clone()).rejects.toMatchObject({ code: 'fault_injected' });
  expect(await present(hypervisor)).toEqual(['workspace']);
  await expect(hypervisor.bootDomain(ID, context)).rejects.toMatchObject({ code: 'boot_failed' });
  expect(await clone()).toEqual(await clone());
});

test('a save that fails leaves the guest frozen and half a snapshot, until these are taken back', async () => {
  const { hypervisor, machine, failpoints } = await booted();
  machine.write(ID, 'note', 'old');
  failpoints.arm(`${ID}/saveSnapshot.during=1*error`);
  await expect(hypervisor.snapshots.save(save, context)).rejects.toMatchObject({ code: 'fault_injected' });
  expect(() => machine.write(ID, 'note', 'new')).toThrow('frozen');
  expect(await hypervisor.snapshots.list()).toEqual([{ snapshotId: SNAPSHOT, state: 'half' }]);
  await expect(hypervisor.snapshots.verify(SNAPSHOT, context)).rejects.toMatchObject({ code: 'snapshot_failed' });
  await hypervisor.snapshots.thaw(ID);
  machine.write(ID, 'note', 'new');
  await hypervisor.snapshots.remove(SNAPSHOT);
  expect(await hypervisor.snapshots.list()).toEqual([]);
});

test('a revert gives back what was saved, once, and only to what is off', async () => {
  const { hypervisor, machine } = await booted();
  machine.write(ID, 'note', 'old');
  await hypervisor.snapshots.save(save, context);
  machine.write(ID, 'note', 'new');
  const revert = () => hypervisor.snapshots.revert({ sandboxId: ID, snapshotId: SNAPSHOT, restoreId: 'once' }, context);
  await expect(revert()).rejects.toMatchObject({ code: 'restore_failed' });
  await hypervisor.removeDomain(ID);
  await revert();
  await hypervisor.bootDomain(ID, context);
  expect(machine.read(ID, 'note')).toBe('old');
  machine.write(ID, 'note', 'newer');
  await revert();
  expect(machine.read(ID, 'note')).toBe('newer');
});

test('a login works only at a guest that runs and has the host key', async () => {
  const { hypervisor, machine, endpoint } = await booted();
  const guests = new InMemoryGuests(machine);
  const stop = new AbortController();
  const verify = (hostKey: string) =>
    guests.verify(ID, {
      endpoint: { ...endpoint, hostKey },
      credentialsDir: '',
      ...context,
      signal: stop.signal,
    });
  await verify(endpoint.hostKey);
  await expect(verify('ssh-ed25519 AAAA')).rejects.toMatchObject({ code: 'host_key_mismatch' });
  await hypervisor.pause(ID);
  const waiting = expect(verify(endpoint.hostKey)).rejects.toThrow('enough');
  stop.abort(new Error('enough'));
  await waiting;
});

test('another hypervisor finds the machine as it was left, and nothing frozen', async () => {
  const { machine, failpoints } = await booted();
  machine.frozen.add(ID);
  const next = new InMemoryHypervisor(machine, failpoints);
  await next.open();
  expect(await next.whereabouts(ID)).toMatchObject({ domain: 'running', lease: { address: '10.0.0.2' } });
  expect(machine.moves(ID)).toBe(true);
});
