import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { QemuProcesses, qemuIn } from '../../../host/libvirt/watch/qemu-processes.ts';
import { domainUuid } from '../../../model/ids.ts';
import { sandboxId } from '../../store/support.ts';
import { eventually } from '../../support/eventually.ts';

const ID = sandboxId(1);
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** A process with these arguments that does nothing. */
function stand(argv0: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', '--', ...args], {
    argv0,
    stdio: 'ignore',
  });
  children.push(child);
  return child;
}

test('without a libvirt daemon in sight nobody can say that no QEMU runs', async () => {
  const processes = new QemuProcesses();
  const seen = await processes.all().then(
    () => 'a daemon runs',
    (error: unknown) => error,
  );
  if (seen !== 'a daemon runs')
    expect(seen).toMatchObject({ code: 'host_unavailable', message: expect.stringMatching(/pid: host/) });
});

test('a QEMU that libvirt does not know is found by its arguments, and ended; others go on', async () => {
  const processes = new QemuProcesses();
  stand('/usr/sbin/libvirtd');
  const named = stand('/usr/bin/qemu-system-x86_64', '-name', `guest=${ID},debug-threads=on`);
  const byUuid = stand('qemu-system-x86_64', '-name', 'guest=x', '-uuid', domainUuid(ID));
  const others = [
    stand('/usr/bin/qemu-system-x86_64', '-name', `guest=${sandboxId(2)},debug-threads=on`),
    stand('/usr/bin/qemu-system-x86_64', '-name', `guest=${ID}x`),
    stand('/usr/bin/vim', '-name', `guest=${ID}`),
    stand('grep', `guest=${ID}`, 'qemu-system-x86_64'),
  ];
  const found = await eventually(
    () => processes.of(ID),
    (seen) => seen.length === 2,
  );
  expect(new Set(found.map(({ pid }) => pid))).toEqual(new Set([named.pid, byUuid.pid]));
  await processes.end(ID);
  expect(await processes.of(ID)).toEqual([]);
  for (const other of others) expect(other.signalCode).toBeNull();
});

test('what libvirt 9.0 starts is read; an id that is none is not', () => {
  const name = `guest=${ID},debug-threads=on`;
  expect(qemuIn(['/usr/bin/qemu-system-x86_64', '-name', name, '-S', '-uuid', 'u'])).toEqual({
    sandboxId: ID,
    uuid: 'u',
  });
  expect(qemuIn(['/usr/bin/qemu-system-x86_64', '-name', 'guest=../../etc', '-uuid'])).toEqual({
    sandboxId: null,
    uuid: null,
  });
  expect(qemuIn(['/bin/sh', '-c', `qemu -name ${name}`])).toBeNull();
  expect(qemuIn([''])).toBeNull();
});
