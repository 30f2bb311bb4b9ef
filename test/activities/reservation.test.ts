import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createReservationActivities } from '../../activities/sandbox/reservation.ts';
import { Ledger } from '../../host/ledger.ts';
import { parseXml } from '../../host/libvirt/client/xml.ts';
import { LibvirtHypervisor } from '../../host/libvirt/driver.ts';
import { SnapshotFolder } from '../../host/libvirt/layers/snapshot-folder.ts';
import { ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import { temporaryState } from '../host/temporary-state.ts';

const GIB = 1024 ** 3;

test('a fork is promised the memory of the machine that was saved, not that of its source', async () => {
  const { state, remove } = await temporaryState();
  onTestFinished(remove);
  await mkdir(state.snapshots);
  const ledger = new Ledger(state);
  await ledger.open();
  const hypervisor = new LibvirtHypervisor({ uri: 'test:///default', state });
  const source = { name: 's', cloneable: true, problem: null, cpus: 1, memoryMib: 256, diskBytes: GIB };
  const room = { cpus: 8, memoryTotalMib: 65_536, memoryAvailableMib: 65_536 };
  vi.spyOn(hypervisor, 'source').mockResolvedValue(source);
  vi.spyOn(hypervisor, 'disk').mockResolvedValue({ totalBytes: 100 * GIB, availableBytes: 90 * GIB });
  const disk = { diskTotalBytes: 100 * GIB, diskAvailableBytes: 90 * GIB };
  vi.spyOn(hypervisor, 'capacity').mockResolvedValue({ ...room, ...disk });
  const folder = new SnapshotFolder(state, snapshotIdFrom(randomBytes(ID_BYTES)));
  const { snapshotId } = folder;
  await folder.make();
  await folder.writeDomain(parseXml('<domain><memory unit="GiB">4</memory><vcpu>3</vcpu></domain>'));
  expect(await hypervisor.snapshots.resources(snapshotId)).toEqual({ cpus: 3, memoryMib: 4_096 });

  const activities = createReservationActivities({ hypervisor, ledger, room: { checkAwake: async () => {} } });
  const promised = async (memoryMib: number | null, of: string | null) => {
    const before = ledger.totals().memoryMib;
    const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
    await activities.reserve({ sandboxId, generation: 1, source: 's', snapshotId: of, memoryMib });
    return ledger.totals().memoryMib - before;
  };
  expect(await promised(null, snapshotId)).toBe(4_096);
  expect(await promised(512, snapshotId)).toBe(512);
  expect(await promised(null, null)).toBe(256);
  await expect(promised(null, snapshotIdFrom(randomBytes(ID_BYTES)))).rejects.toMatchObject({
    code: 'snapshot_not_found',
  });
});
