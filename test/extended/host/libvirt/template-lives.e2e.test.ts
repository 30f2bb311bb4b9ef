import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { exec } from '../../../../host/os/exec.ts';
import { changesOf } from '../../../host/libvirt/changes.ts';
import { Created, makeTemplate, removeTemplate } from '../../../host/libvirt/created.ts';
import { expectClock, LivingGuest, newSnapshotId, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';

const machine = useMachine();

/**
 * Makes a template that was saved 23 hours ago by its guest's clock. Three timers were due since then, one is due every
 * two seconds. All that wake from it send DHCP the same client id.
 */
const OLD = `now=$(date +%s)
mkdir -p /etc/systemd/network/10-virtio.network.d
cat >/etc/systemd/network/10-virtio.network.d/one-client.conf <<'END'
[DHCPv4]
ClientIdentifier=duid
DUIDType=uuid
DUIDRawData=00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff
IAID=7
END
printf '#!/bin/sh\\necho "$1 $(date +%%s)" >>/srv/fired\\n' >/srv/fire
chmod 755 /srv/fire
printf '[Service]\\nType=oneshot\\nExecStart=/srv/fire %%i\\n' >/etc/systemd/system/fired@.service
timer() { printf '[Timer]\\nOnCalendar=%s\\nAccuracySec=1s\\nUnit=fired@%s.service\\n%s\\n' "$2" "$1" "$3" >"/etc/systemd/system/$1.timer"; }
timer missed-1 "*-*-* $(date -d "@$((now - 72000))" +%H:%M:%S)" Persistent=true
timer missed-2 "*-*-* $(date -d "@$((now - 43200))" +%H:%M:%S)"
timer missed-3 "*-*-* $(date -d "@$((now - 3600))" +%H:%M:%S)" Persistent=true
timer soon '*-*-* *:*:0/2'
date --set "@$((now - 82800))"
systemctl daemon-reload
systemctl start missed-1.timer missed-2.timer missed-3.timer soon.timer
systemctl restart systemd-networkd`;

const IDENTITY = [
  'hostname',
  'cat /etc/machine-id',
  'cat /etc/ssh/ssh_host_ed25519_key.pub',
  'cat /sys/class/net/[!l]*/address',
  'hostname -I',
];
const BOOT_ID = 'cat /proc/sys/kernel/random/boot_id';
const CLIENT_ID = 'sudo sed -n s/^CLIENTID=//p /run/systemd/netif/leases/*';

beforeAll(async () => {
  await makeTemplate(machine(), { before: OLD });
});

const wake = async () => await (await new Created(machine()).make('template')).boot();
const linesOf = async (guest: Pick<Created, 'run'>, commands: readonly string[]) =>
  (await guest.run(commands.join('; '))).split('\n').map((line) => line.trim());

test('a guest woken from an old template has the right time, accepts a new certificate, and runs no missed timer', async () => {
  const { virsh } = machine();
  const sandbox = await wake();
  await expectClock(virsh, sandbox.id);
  const made = [
    'req',
    '-x509',
    '-newkey',
    'ed25519',
    '-nodes',
    '-keyout',
    '/dev/null',
    '-subj',
    '/CN=new',
    '-days',
    '1',
  ];
  const { stdout: certificate } = await exec('openssl', made);
  const verify = 'openssl verify -CAfile /dev/shm/new.pem /dev/shm/new.pem';
  expect(await sandbox.run(`cat >/dev/shm/new.pem <<'END'\n${certificate}\nEND\n${verify}`)).toContain(': OK');

  // its timers continue: those due now run, and none that was due in between
  const boot = (await sandbox.run(`awk '$1 == "btime" { print $2 }' /proc/stat`)).trim();
  await sandbox.run(`until [ "$(awk '$1 == "soon" && $2 > ${boot}' /srv/fired | wc -l)" -ge 2 ]; do sleep 0.2; done`);
  expect(await sandbox.run('cut -d " " -f 1 /srv/fired | sort -u')).toBe('soon');
  const timers = await sandbox.run("sudo systemctl show -p ActiveState --value 'missed-*.timer'");
  expect(timers.split(/\s+/)).toEqual(['active', 'active', 'active']);
  await sandbox.remove();
});

test('two guests with one DHCP client id have different addresses, and keep them across a reboot', async () => {
  const [one, other] = await Promise.all([wake(), wake()]);
  const [ours, theirs] = [await linesOf(one, IDENTITY), await linesOf(other, IDENTITY)];
  expect(await one.run(CLIENT_ID)).toBe(await other.run(CLIENT_ID));
  expect(new Set([...ours, ...theirs]).size).toBe(2 * IDENTITY.length);

  const [before] = await linesOf(one, [BOOT_ID]);
  await one.run('echo kept >~/kept; sync; sudo systemctl reboot').catch(() => 'cut');
  const current = () =>
    linesOf(one, [BOOT_ID]).then(
      ([id]) => id,
      () => before,
    );
  await expect.poll(current, { interval: 500 }).not.toBe(before);
  expect(await linesOf(one, [...IDENTITY, 'cat ~/kept', 'sudo cat /var/lib/mayfly/instance-id'])).toEqual([
    ...ours,
    'kept',
    one.id,
  ]);
  expect(await linesOf(other, IDENTITY)).toEqual(theirs);
  expect(new Set([before, ...(await linesOf(one, [BOOT_ID])), ...(await linesOf(other, [BOOT_ID]))]).size).toBe(3);
  for (const sandbox of [one, other]) await sandbox.remove();
});

test('a woken guest is hibernated, woken and forked with its memory: each is one machine, with the right time', async () => {
  const { host, virsh } = machine();
  const parent = await wake();
  const own = await linesOf(parent, [...IDENTITY, BOOT_ID]);
  await host.hibernate(parent.id, stepContext());
  await host.wake(parent.id, 'running', stepContext());
  await expectClock(virsh, parent.id);
  expect(await linesOf(parent, [...IDENTITY, BOOT_ID])).toEqual(own);

  const snapshotId = newSnapshotId();
  await host.snapshots.save({ snapshotId, sandboxId: parent.id, kind: 'full' }, stepContext());
  await host.snapshots.verify(snapshotId, stepContext());
  const seen = [...own];
  const drawn = 'od -An -tx1 -N16 /dev/urandom';
  seen.push(...(await linesOf(parent, [drawn])));
  const forks = await Promise.all([1, 2].map(() => LivingGuest.start(machine(), snapshotId)));
  for (const fork of forks) {
    await expectClock(virsh, fork.id);
    seen.push(...(await linesOf(fork, [...IDENTITY, BOOT_ID, drawn])));
  }
  expect(new Set(seen).size, seen.join('\n')).toBe(3 * (IDENTITY.length + 2));
  for (const sandbox of [...forks, parent]) await sandbox.remove();
  await host.snapshots.remove(snapshotId);
});

test('a woken guest pauses, saves, differs, restores and restarts without its template', async () => {
  const { host, virsh, state } = machine();
  const id = await makeTemplate(machine());
  const sandbox = await wake();
  expect(await sandbox.boots()).toMatchObject({ way: 'template', templateId: id });
  await removeTemplate(machine(), id);
  await expect(readFile(join(state.snapshot(id), 'memory.save'))).rejects.toMatchObject({ code: 'ENOENT' });
  const own = await linesOf(sandbox, IDENTITY);

  await host.pause(sandbox.id);
  await host.resume(sandbox.id);
  await expectClock(virsh, sandbox.id);
  const save = async () => {
    const snapshotId = newSnapshotId();
    await host.snapshots.save({ snapshotId, sandboxId: sandbox.id, kind: 'disk' }, stepContext());
    await host.snapshots.verify(snapshotId, stepContext());
    return snapshotId;
  };
  const before = await save();
  await sandbox.run('echo later >~/later');
  const after = await save();
  expect(await changesOf(machine(), before, after, ['/home/sandbox'])).toEqual(['added /home/sandbox/later']);

  await sandbox.off();
  await host.snapshots.revert({ sandboxId: sandbox.id, snapshotId: before, restoreId: 'restore-1' }, stepContext());
  await sandbox.boot();
  expect(await linesOf(sandbox, [...IDENTITY, 'ls ~'])).toEqual(own);
  await sandbox.off();
  await sandbox.boot();
  expect(await linesOf(sandbox, IDENTITY)).toEqual(own);
  await sandbox.remove();
  for (const snapshotId of [before, after]) await host.snapshots.remove(snapshotId);
});
