import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { Residue } from '../../../host/libvirt/residue.ts';
import { QemuProcesses, qemuIn } from '../../../host/libvirt/watch/qemu-processes.ts';
import { StateDir } from '../../../host/state-dir.ts';
import { domainUuid, ID_BYTES, macAddress, sandboxIdFrom } from '../../../model/ids.ts';
import { eventually } from '../../support/eventually.ts';

/** Creates a unique id: a concurrent test may kill the QEMUs of its own ids. */
const newId = () => sandboxIdFrom(randomBytes(ID_BYTES));
const ID = newId();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** Starts an idle process with these arguments. */
function stand(argv0: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', '--', ...args], {
    argv0,
    stdio: 'ignore',
  });
  children.push(child);
  return child;
}

test('without a visible libvirt daemon the absence of a QEMU cannot be proved', async () => {
  const processes = new QemuProcesses();
  const seen = await processes.all().then(
    () => 'a daemon runs',
    (error: unknown) => error,
  );
  if (seen !== 'a daemon runs')
    expect(seen).toMatchObject({ code: 'host_unavailable', message: expect.stringMatching(/pid: host/) });
});

test('a QEMU unknown to libvirt is found by its arguments, and killed; others are not', async () => {
  const processes = new QemuProcesses();
  stand('/usr/sbin/libvirtd');
  const named = stand('/usr/bin/qemu-system-x86_64', '-name', `guest=${ID},debug-threads=on`);
  const byUuid = stand('qemu-system-x86_64', '-name', 'guest=x', '-uuid', domainUuid(ID));
  const others = [
    stand('/usr/bin/qemu-system-x86_64', '-name', `guest=${newId()},debug-threads=on`),
    stand('/usr/bin/qemu-system-x86_64', '-name', `guest=${ID}x`),
    stand('/usr/bin/vim', '-name', `guest=${ID}`),
    stand('grep', `guest=${ID}`, 'qemu-system-x86_64'),
  ];
  const found = await eventually(() => processes.of(ID), { length: 2 });
  expect(new Set(found.map(({ pid }) => pid))).toEqual(new Set([named.pid, byUuid.pid]));
  await processes.end(ID);
  expect(await processes.of(ID)).toEqual([]);
  for (const other of others) expect(other.signalCode).toBeNull();
});

/**
 * Guards: QEMUs of every libvirtd on a machine are visible; those of another installation must not count as orphans and
 * be killed.
 */
test('a QEMU of another installation is not listed as residue', async () => {
  stand('/usr/sbin/libvirtd');
  const [ours, theirs, unnamed] = [newId(), newId(), newId()];
  const start = (id: string, ...files: string[]) => {
    const disks = files.flatMap((file) => ['-blockdev', JSON.stringify({ driver: 'file', filename: file })]);
    return stand('/usr/bin/qemu-system-x86_64', '-name', `guest=${id},debug-threads=on`, ...disks);
  };
  start(theirs, '/images/base.qcow2', `/theirs/sandboxes/${theirs}/disk.qcow2`);
  start(ours, '/images/base.qcow2', `/ours/sandboxes/${ours}/disk.qcow2`);
  start(unnamed);
  const lease = { macAddress: macAddress(theirs, 0), hostname: theirs, address: '10.0.0.9', bridge: 'b' };
  const residue = new Residue({
    processes: new QemuProcesses(),
    state: new StateDir('/ours'),
    domains: { list: async () => [], lookedAt: 'virsh' },
    leases: { all: async () => [lease], files: [] },
    saved: { refuseUnseen: async () => {}, sandboxIds: async () => [], of: (id: string) => `/saved/${id}` },
  } as unknown as ConstructorParameters<typeof Residue>[0]);
  const marked = async () => new Set((await residue.marks()).map((mark) => mark.sandboxId));
  const found = await eventually(marked, (ids) => ids.has(ours) && ids.has(unnamed));
  expect(found.has(theirs)).toBe(false);
});

test('parses the arguments of libvirt 9.0; an invalid id is ignored', () => {
  const name = `guest=${ID},debug-threads=on`;
  expect(qemuIn(['/usr/bin/qemu-system-x86_64', '-name', name, '-S', '-uuid', 'u'])).toEqual({
    sandboxId: ID,
    uuid: 'u',
    files: [],
  });
  const disk = '{"driver":"file","filename":"/s/sandboxes/x/disk.qcow2","node-name":"libvirt-2-storage"}';
  const random = '{"qom-type":"rng-random","id":"objrng0","filename":"/dev/urandom"}';
  expect(qemuIn(['qemu-system-x86_64', '-object', random, '-blockdev', disk])?.files).toEqual([
    '/s/sandboxes/x/disk.qcow2',
  ]);
  expect(qemuIn(['/usr/bin/qemu-system-x86_64', '-name', 'guest=../../etc', '-uuid'])).toEqual({
    sandboxId: null,
    uuid: null,
    files: [],
  });
  expect(qemuIn(['/bin/sh', '-c', `qemu -name ${name}`])).toBeNull();
  expect(qemuIn([''])).toBeNull();
});
