import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { limitsCpus } from '../../../../host/libvirt/client/cpu-limits.ts';
import type { StepContext } from '../../../../host/step-context.ts';
import { ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../../../model/ids.ts';
import { GUEST_LIMITS } from '../../../../model/limits.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';

const machine = useMachine();
const context = (): StepContext => ({ signal: AbortSignal.timeout(120_000), alive: () => {} });
const newId = () => sandboxIdFrom(randomBytes(ID_BYTES));

/** Returns the name of a disk's throttle group in QEMU, and the limits of that group. */
async function limitsOf(sandboxId: string, disk: string): Promise<Record<string, string>> {
  const said = await machine().virsh.run(['blkdeviotune', sandboxId, disk, '--live']);
  const found = [...said.matchAll(/^(\w+) *: (\S+)$/gm)].map(([, name = '', value = '']) => [name, value]);
  return Object.fromEntries(found.filter(([, value]) => value !== '0'));
}

test('QEMU limits the disks of a guest together, also after a snapshot and a wake', async () => {
  const { host, booted, ca } = machine();
  const [id, snapshotId] = [newId(), snapshotIdFrom(randomBytes(ID_BYTES))];
  await booted.wake(id, [ca.publicKey]);
  const { disk } = GUEST_LIMITS;
  const limits = {
    total_bytes_sec: String(disk.bytesPerSecond),
    total_bytes_sec_max: String(disk.burstBytesPerSecond),
    total_bytes_sec_max_length: String(disk.burstSeconds),
    total_iops_sec: String(disk.operationsPerSecond),
    total_iops_sec_max: String(disk.burstOperationsPerSecond),
    total_iops_sec_max_length: String(disk.burstSeconds),
    group_name: 'mayfly',
  };
  expect(await limitsOf(id, 'vda')).toEqual(limits);
  expect(await limitsOf(id, 'sda')).toEqual(limits);
  await host.snapshots.save({ snapshotId, sandboxId: id, kind: 'disk' }, context());
  expect(await limitsOf(id, 'vda')).toEqual(limits);
  await host.hibernate(id, context());
  await host.wake(id, 'running', context());
  expect(await limitsOf(id, 'vda')).toEqual(limits);

  await host.removeDomain(id);
  await host.releaseLease(id);
  await host.removeWorkspace(id);
  await host.snapshots.remove(snapshotId);
});

test('a private libvirtd limits no CPUs, and the probe for it leaves no residue', async () => {
  const { virsh } = machine();
  expect(await limitsCpus(virsh, 'tcg')).toBe(false);
  expect(await virsh.run(['list', '--all', '--name'])).not.toContain('probe');
});
