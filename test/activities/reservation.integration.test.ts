import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createReservationActivities } from '../../activities/sandbox/reservation.ts';
import { Failpoints } from '../../host/failpoints.ts';
import { Ledger } from '../../host/ledger.ts';
import { parseXml } from '../../host/libvirt/client/xml.ts';
import { LibvirtHypervisor } from '../../host/libvirt/driver.ts';
import { SnapshotFolder } from '../../host/libvirt/layers/snapshot-folder.ts';
import { ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { InMemoryHypervisor } from '../support/in-memory-host/driver.ts';
import { InMemoryMachine } from '../support/in-memory-host/machine.ts';

const GIB = 1024 ** 3;

test('a fork reserves the memory of the saved machine, not that of its source', async () => {
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

/** Sets up a host whose memory is fully reserved by 30 sandboxes of 100 MiB, each using `residentMib` of it. */
async function crowded(residentMib: () => Promise<number>) {
  const { state, remove } = await temporaryState();
  onTestFinished(remove);
  const ledger = new Ledger(state);
  await ledger.open();
  const hypervisor = new InMemoryHypervisor(new InMemoryMachine(), Failpoints.parse(undefined));
  const disk = { diskTotalBytes: 100 * GIB, diskAvailableBytes: 90 * GIB };
  const memory = { memoryTotalMib: 8_000, memoryAvailableMib: 3_750 };
  vi.spyOn(hypervisor, 'capacity').mockResolvedValue({ cpus: 8, ...memory, ...disk });
  const measured = async () => {
    const mib = await residentMib();
    return new Map(ledger.sandboxIds().map((id) => [id, mib]));
  };
  const resident = vi.spyOn(hypervisor, 'residentMibOfAll').mockImplementation(measured);
  const diskBytes = vi.spyOn(hypervisor, 'diskBytes');
  const activities = createReservationActivities({ hypervisor, ledger, room: { checkAwake: async () => {} } });
  const reserve = () => {
    const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
    return activities.reserve({ sandboxId, generation: 1, source: 'golden-debian12', memoryMib: 100 });
  };
  await Promise.all(Array.from({ length: 30 }, reserve));
  return { ledger, reserve, resident, diskBytes };
}

test('ten creates on a full host share one measurement of all sandboxes; only those without room are refused', async () => {
  const { ledger, reserve, resident, diskBytes } = await crowded(async () => {
    await expect.poll(refusals).toBe(10);
    return 90;
  });
  const asked = vi.spyOn(ledger, 'reserve');
  const refusals = () => asked.mock.settledResults.filter(({ type }) => type === 'rejected').length;
  expect(resident).not.toHaveBeenCalled();
  await Promise.all(Array.from({ length: 10 }, reserve));
  expect(ledger.totals().sandboxes).toBe(40);
  expect(resident).toHaveBeenCalledOnce();
  expect(diskBytes).not.toHaveBeenCalled();
});

test('a create without room after the measurement is refused, as is one whose host cannot be measured', async () => {
  const { ledger, reserve, resident } = await crowded(async () => 0);
  await expect(reserve()).rejects.toMatchObject({ code: 'capacity_exhausted' });
  resident.mockRejectedValue(new Error('no answer'));
  await expect(reserve()).rejects.toThrow('no answer');
  expect(ledger.totals().sandboxes).toBe(30);
  resident.mockImplementation(async () => new Map(ledger.sandboxIds().map((id) => [id, 50])));
  await reserve();
  expect(ledger.totals().sandboxes).toBe(31);
});

/** Fake virsh of a host with 20 sandboxes and one foreign domain of 90 MiB each; logs its arguments. */
const VIRSH = `#!/bin/sh
echo "$*" >>"$VIRSH_ASKED"
case "$*" in
*nodeinfo*) printf 'CPU(s):  8\nMemory size:  4096000 KiB\n\ntotal  : 4096000 KiB\nfree   : 2662400 KiB\nbuffers: 0 KiB\ncached : 0 KiB\n' ;;
*domstats*) for name in somebodys-own $SANDBOXES; do printf "Domain: '%s'\n  balloon.current=102400\n  balloon.rss=92160\n\n" "$name"; done ;;
*) echo 'error: not asked for' >&2; exit 1 ;;
esac
`;

test.each([2, 20])(
  'a full host starts a constant number of programs for a create with %i sandboxes',
  async (sandboxes) => {
    const { state, remove } = await temporaryState();
    onTestFinished(remove);
    const ledger = new Ledger(state);
    await ledger.open();
    const bin = join(state.root, 'bin');
    const asked = join(state.root, 'asked');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'virsh'), VIRSH, { mode: 0o755 });
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`);
    vi.stubEnv('VIRSH_ASKED', asked);
    onTestFinished(() => void vi.unstubAllEnvs());
    const hypervisor = new LibvirtHypervisor({ uri: 'test:///default', state });
    const source = { name: 's', cloneable: true, problem: null, cpus: 1, memoryMib: 100, diskBytes: GIB };
    vi.spyOn(hypervisor, 'source').mockResolvedValue(source);
    vi.spyOn(hypervisor, 'disk').mockResolvedValue({ totalBytes: 100 * GIB, availableBytes: 90 * GIB });
    const activities = createReservationActivities({ hypervisor, ledger, room: { checkAwake: async () => {} } });
    const reserve = (sandboxId: string) =>
      activities.reserve({ sandboxId, generation: 1, source: 's', memoryMib: null });

    // 80 % of 2,600 MiB is reserved by all but the last, which fits only because the others use less.
    const ids = Array.from({ length: sandboxes }, () => sandboxIdFrom(randomBytes(ID_BYTES)));
    vi.stubEnv('SANDBOXES', ids.join(' '));
    const each = Math.floor(2_080 / sandboxes);
    const capacity = await hypervisor.capacity();
    for (const sandboxId of ids) await ledger.reserve({ sandboxId, memoryMib: each, diskBytes: GIB }, capacity);
    await writeFile(asked, '');
    await reserve(sandboxIdFrom(randomBytes(ID_BYTES)));
    const programs = (await readFile(asked, 'utf8')).trim().split('\n');
    expect(programs).toHaveLength(3);
    expect(programs.filter((line) => line.includes('domstats'))).toHaveLength(1);
  },
);
