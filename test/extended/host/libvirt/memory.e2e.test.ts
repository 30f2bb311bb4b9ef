import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { killedAfter } from '../../../host/libvirt/killed-step.ts';
import { expectRightTime, LivingGuest, newSnapshotId, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { sweep } from '../../../support/sweep.ts';

const machine = useMachine();
let parent: LivingGuest;
/** Snapshot of a save that was killed and repeated. */
let kept: string | null = null;

/**
 * Counts in memory, writes each number to a tmpfs with the identity of the machine, and keeps a deleted file open:
 * `number hostname seconds random`.
 */
const COUNTER = `open F, "+>", "/tmp/gone"; unlink "/tmp/gone"; syswrite F, "still here";
open L, ">>", "/dev/shm/log"; L->autoflush(1);
while (1) {
  open H, "/proc/sys/kernel/hostname"; chomp($h = <H>); open R, "/dev/urandom"; sysread R, $r, 8;
  printf L "%d %s %d %s\\n", ++$n, $h, time, unpack("H*", $r); select undef, undef, undef, 0.05;
}`;

interface Line {
  number: number;
  host: string;
  seconds: number;
  random: string;
}

async function logOf(guest: LivingGuest): Promise<Line[]> {
  const lines = (await guest.run('cat /dev/shm/log')).split('\n').map((line) => line.split(' '));
  return lines.map(([number, host = '', seconds, random = '']) => {
    return { number: Number(number), host, seconds: Number(seconds), random };
  });
}

/** Waits until its counter has advanced. */
async function counts(guest: LivingGuest): Promise<void> {
  await guest.run('n=$(wc -l </dev/shm/log); until [ "$(wc -l </dev/shm/log)" -gt "$n" ]; do sleep 0.1; done');
}

beforeAll(async () => {
  parent = await LivingGuest.wake(machine());
  await parent.run(
    `cat >count.pl <<'END'\nuse IO::Handle;\n${COUNTER}\nEND\n setsid perl count.pl >/dev/null 2>&1 </dev/null &`,
  );
});

const IDENTITY =
  'hostname; cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub /sys/class/net/[!l]*/address; hostname -I';

const DELETED = 'for f in /proc/$(pgrep -x perl)/fd/*; do case $(readlink $f) in *deleted*) cat $f ;; esac; done';

test('forks continue from the same number, each as another machine; the parent continues; a restore resumes the saved processes', async () => {
  const { host, state } = machine();
  const held = parent.run('sleep 1000').catch(() => 'cut'); // a connection that no fork may continue
  const connected = "ss -Htn state established | awk '{print $3}'";
  await expect.poll(async () => (await parent.run(connected)).split('\n').length).toBe(2);
  await counts(parent);
  const [snapshotId, saved] = await parent.save(newSnapshotId(), 'full');
  expect(saved).toMatchObject({ kind: 'full', quiesced: true, disks: [{ target: 'vda' }] });
  expect(saved.memoryBytes).toBeGreaterThan(30 * 1024 * 1024);
  expect(saved.sizeBytes).toBe((saved.memoryBytes ?? 0) + (saved.disks[0]?.storedBytes ?? 0));
  expect(await parent.save(snapshotId, 'full')).toEqual([snapshotId, saved]);
  const memory = await stat(join(state.snapshot(snapshotId), 'memory.save'));
  expect([memory.uid, memory.mode & 0o777]).toEqual([0, 0o400]);
  await counts(parent);

  const forks = await Promise.all([1, 2].map(() => LivingGuest.make(machine(), snapshotId)));
  const wokenAt = Date.now() / 1000;
  await Promise.all(forks.map((fork) => fork.boot()));
  const logs: Line[][] = [];
  for (const fork of forks) logs.push(await logOf(fork));
  const before = logs.map((log) => log.filter(({ host: name }) => name === parent.id));
  const first = logs.map((log, n) => log.find(({ host: name }) => name === forks[n]?.id));
  // each number was counted once, without a gap between the save and the wake
  for (const log of logs) expect(log.map(({ number }) => number)).toEqual(log.map((_, n) => n + 1));
  expect(before[0]?.length).toBe(before[1]?.length);
  expect(first.map((line) => line?.number)).toEqual(before.map((lines) => lines.length + 1));
  for (const line of first) expect(line?.seconds).toBeGreaterThanOrEqual(Math.floor(wokenAt));
  expect(new Set(logs.flatMap((log, n) => log.slice(before[n]?.length).map((l) => l.random))).size).toBe(
    logs.reduce((sum, log, n) => sum + log.length - (before[n]?.length ?? 0), 0),
  );
  const own = await parent.run(IDENTITY);
  const identities = [own];
  for (const fork of forks) {
    const askedAt = Date.now();
    const said = await fork.run([IDENTITY, DELETED, connected, 'date +%s'].join('; echo --; '));
    const [identity = '', deleted, connections = '', seconds] = said.split('--').map((part) => part.trim());
    identities.push(identity);
    expect(deleted).toBe('still here');
    expect(new Set(connections.split('\n'))).toEqual(new Set([`${fork.address}:22`]));
    expectRightTime(seconds, askedAt);
  }
  expect(new Set(identities.flatMap((text) => text.split('\n'))).size).toBe(15);
  await forks[1]?.remove();

  const theirs = await logOf(parent);
  expect(theirs.every(({ host: name }) => name === parent.id)).toBe(true);
  expect(theirs.length).toBeGreaterThan(before[0]?.length ?? 0);
  await host.removeDomain(parent.id);
  expect(await held).toBe('cut');
  await host.snapshots.revert({ sandboxId: parent.id, snapshotId, restoreId: 'restore-1' }, stepContext());
  const restoredAt = Date.now() / 1000;
  await parent.boot();
  await counts(parent);
  const back = await logOf(parent);
  expect(back.map(({ number }) => number)).toEqual(back.map((_, n) => n + 1));
  const next = back[before[0]?.length ?? 0];
  expect(next?.seconds).toBeGreaterThanOrEqual(Math.floor(restoredAt));
  expect(theirs.map(({ random }) => random)).not.toContain(next?.random);
  expect(await parent.run(IDENTITY)).toBe(own);

  // libvirt knows the layers by names that a snapshot has replaced
  await parent.save();
  await host.hibernate(parent.id, stepContext());
  await host.wake(parent.id, 'running', stepContext());
  await counts(parent);

  // the next boot is a cold one, and a fork keeps its identity
  const [fork] = forks;
  if (!fork) throw new Error('there is no fork');
  await fork.run('sync');
  await fork.off();
  await fork.boot();
  const again = await fork.run(`${IDENTITY}; echo --; ls /dev/shm; echo --`);
  expect(again.split('\n').slice(0, 4)).toEqual(identities[1]?.split('\n').slice(0, 4));
  expect(again).toMatch(/--\s+--$/);
  await fork.remove();
  expect((await host.snapshots.remove(snapshotId)).keptFor).toContain(parent.id);
}, 900_000);

const KILLED_SAVES = [
  [500, 'repeated'],
  [300, 'taken back'],
  [900, 'repeated'],
  [100, 'repeated'],
  [700, 'taken back'],
  [1_200, 'taken back'],
] as const;
sweep(KILLED_SAVES)('killed %s ms into a save, it is %s, and nothing stays frozen', async ([ms, end]) => {
  const { host } = machine();
  const snapshotId = newSnapshotId();
  await killedAfter(machine(), ms, 'saveFull', parent.id, snapshotId);
  if (end === 'repeated') {
    [kept] = await parent.save(snapshotId, 'full');
  } else {
    await host.snapshots.thaw(parent.id);
    await host.snapshots.remove(snapshotId);
  }
  await counts(parent);
  expect((await host.snapshots.list()).filter(({ state }) => state === 'half')).toEqual([]);
});

test('a killed wake of memory from a killed save is repeated', async () => {
  const [snapshotId] = kept === null ? await parent.save(newSnapshotId(), 'full') : [kept];
  const fork = await LivingGuest.make(machine(), snapshotId);
  for (const ms of [300, 900, 1_500]) await killedAfter(machine(), ms, 'bootDomain', fork.id, snapshotId);
  // libvirtd may still execute the wake of the killed worker: then this one fails, and is repeated, as Temporal does
  await fork.boot().catch(() => fork.boot());
  await counts(fork);
  const strangers = (await logOf(fork)).filter(({ host: name }) => name !== fork.id && name !== parent.id);
  expect(strangers).toEqual([]);
  await fork.remove();
});

test('a guest that cannot confirm its new identity does not run', async () => {
  const { host, state } = machine();
  await parent.run(
    'sudo mv /usr/bin/ip /usr/bin/ip.real; printf "#!/bin/sh\\nexit 1\\n" | sudo tee /usr/bin/ip; sudo chmod 755 /usr/bin/ip',
  );
  const [snapshotId] = await parent.save(newSnapshotId(), 'full');
  await parent.run('sudo mv /usr/bin/ip.real /usr/bin/ip');
  const fork = await LivingGuest.make(machine(), snapshotId);
  await expect(fork.boot()).rejects.toMatchObject({ code: 'boot_failed' });
  expect((await host.whereabouts(fork.id)).domain).toBe('absent');
  expect(await readdir(state.workspace(fork.id))).not.toContainEqual(expect.stringContaining('memory'));
  await fork.remove();
  await host.snapshots.remove(snapshotId);
});

test('memory that was saved with unfrozen processes is never woken', async () => {
  const { host } = machine();
  const thaw = '#!/bin/sh\\nwhile read -r g; do echo 0 >$g/cgroup.freeze; done </run/mayfly-frozen\\n';
  await parent.run(
    `sudo mv /usr/bin/sync /usr/bin/sync.real; printf '${thaw}' | sudo tee /usr/bin/sync; sudo chmod 755 /usr/bin/sync`,
  );
  const [snapshotId] = await parent.save(newSnapshotId(), 'full');
  await parent.run('sudo mv /usr/bin/sync.real /usr/bin/sync');
  await counts(parent);
  const fork = await LivingGuest.make(machine(), snapshotId);
  const refused = { code: 'boot_failed', message: expect.stringContaining('not frozen any more') };
  await expect(fork.boot()).rejects.toMatchObject(refused);
  expect((await host.whereabouts(fork.id)).domain).toBe('absent');
  await fork.remove();
  await host.snapshots.remove(snapshotId);
});

test('a guest that is paused or has no agent is not saved with its memory, and the attempt leaves no residue', async () => {
  const { host } = machine();
  const refused = async () => {
    const snapshotId = newSnapshotId();
    await expect(parent.save(snapshotId, 'full')).rejects.toMatchObject({ code: 'snapshot_unsupported' });
    await host.snapshots.thaw(parent.id);
    await host.snapshots.remove(snapshotId);
    expect((await host.snapshots.list()).map((kept) => kept.snapshotId)).not.toContain(snapshotId);
  };
  await host.pause(parent.id);
  await refused();
  await host.resume(parent.id);
  await parent.run('sudo systemctl stop qemu-guest-agent');
  await refused();
  await counts(parent);
  await parent.remove();
  for (const { snapshotId } of await host.snapshots.list()) await host.snapshots.remove(snapshotId);
  expect(await host.snapshots.list()).toEqual([]);
});
