import { constants } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { macAddresses, wakingXml } from '../../../../host/libvirt/domain-xml/waking-xml.ts';
import { AgentConsole } from '../../../../host/libvirt/guest/agent-console.ts';
import { SnapshotFolder } from '../../../../host/libvirt/layers/snapshot-folder.ts';
import { Workspace } from '../../../../host/libvirt/layers/workspace.ts';
import { readSaveImage, rewriteSaveImage } from '../../../../host/libvirt/memory/save-image.ts';
import { Created, makeTemplate } from '../../../host/libvirt/created.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { qemuOf } from '../../../support/qemu-of.ts';

const machine = useMachine();
let templateId: string;

/** Number of wakes, two at once; fifty by hand. */
const FORKS = Number(process.env['MAYFLY_TEMPLATE_FORKS'] ?? 8);
const AT_ONCE = 2;
/** Attempts until two wakes without renewal read the same: their kernels' earlier reads may come in another order. */
const CONTROLS = 4;

/** Sleeps in the saved memory, and reads on as soon as it may: `hostname random`. */
const READER = `open L, ">>", "/dev/shm/read"; L->autoflush(1);
while (1) {
  open H, "/proc/sys/kernel/hostname"; chomp($h = <H>); open R, "/dev/urandom"; sysread R, $r, 16;
  print L "$h ", unpack("H*", $r), "\\n"; select undef, undef, undef, 0.05;
}`;

/** Last action before the freeze: no reseed is due at the wake, so only the renewal reseeds. */
const BEFORE_SAVE = `systemd-run --quiet --unit=reader perl -MIO::Handle -e '${READER}'
perl -e 'open(my $r, "+<", "/dev/urandom"); ioctl($r, 0x5207, 0) or die $!'`;

/** Identities of machines, and first random values of their programs: a line each, if the program exists. */
const DRAWN: Record<string, string> = {
  'host name': 'hostname',
  'machine-id': 'cat /etc/machine-id',
  'host key': 'cat /etc/ssh/ssh_host_ed25519_key.pub',
  'MAC address': 'cat /sys/class/net/[!l]*/address',
  address: 'hostname -I',
  'DHCP client id': 'sudo sed -n s/^CLIENTID=//p /run/systemd/netif/leases/*',
  'boot id': 'cat /proc/sys/kernel/random/boot_id',
  'instance id': 'sudo cat /var/lib/mayfly/instance-id',
  'instance id of cloud-init': 'cat /var/lib/cloud/data/instance-id',
  'what slept reads first': 'awk -v h="$(hostname)" \'$1 == h { print $2; exit }\' /dev/shm/read',
  '/dev/urandom': 'od -An -tx1 -N16 /dev/urandom',
  getrandom: `perl -e '$b = "\\0" x 16; syscall(318, $b, 16, 0) == 16 or die; print unpack("H*", $b)'`,
  'random/uuid': 'cat /proc/sys/kernel/random/uuid',
  uuidgen: 'uuidgen',
  'openssl rand': 'openssl rand -hex 16',
  'ssh-keygen': 'ssh-keygen -q -t ed25519 -N "" -C "" -f /dev/shm/key; cat /dev/shm/key.pub',
  "bash's SRANDOM": 'bash -c "echo \\$SRANDOM"',
  "perl's srand": "perl -e 'print srand'",
  "perl's rand": "perl -e 'print rand'",
  "Python's random": "python3 -c 'import random; print(random.random())'",
  "Python's urandom": "python3 -c 'import os; print(os.urandom(16).hex())'",
  "Node's random": "node -e 'console.log(Math.random())'",
  'where sshd lies in memory': 'sudo head -n 1 /proc/$(cat /run/sshd.pid)/maps',
  'where the journal lies in memory': 'sudo head -n 1 /proc/$(pgrep -x systemd-journal)/maps',
};
/** Values that not every image has. */
const MAY_MISS = new Set(
  ['instance id of cloud-init', 'uuidgen', 'openssl rand'].concat(
    Object.keys(DRAWN).filter((what) => /^(?:Python|Node)/.test(what)),
  ),
);

const LOOK = Object.values(DRAWN)
  .map((command) => `v=$({ ${command}; } 2>/dev/null | head -n 1); echo "\${v:--}"`)
  .join('\n');

beforeAll(async () => {
  templateId = await makeTemplate(machine(), { after: BEFORE_SAVE });
});

/** Returns a guest's proportional set size and private memory, MiB. */
async function memoryOf(sandboxId: string): Promise<string> {
  const text = await readFile(`/proc/${await qemuOf(sandboxId)}/smaps_rollup`, 'utf8');
  const mib = (key: RegExp) =>
    Math.round([...text.matchAll(key)].reduce((sum, [, kib]) => sum + Number(kib), 0) / 1024);
  return `Pss ${mib(/^Pss:\s+(\d+)/gm)} MiB, private ${mib(/^Private_\w+:\s+(\d+)/gm)} MiB`;
}

test(`${FORKS} that wake from one template have nothing in common that is drawn or given`, async () => {
  const said: string[][] = [];
  while (said.length < FORKS) {
    const count = Math.min(AT_ONCE, FORKS - said.length);
    const batch = await Promise.all(
      Array.from({ length: count }, async () => await (await new Created(machine()).make('template')).boot()),
    );
    for (const sandbox of batch) {
      expect(await sandbox.boots()).toMatchObject({ way: 'template', templateId });
      said.push((await sandbox.run(LOOK)).split('\n').map((line) => line.trim()));
      process.stderr.write(`woken ${said.length}: ${await memoryOf(sandbox.id)}\n`);
      await sandbox.remove();
    }
  }
  const missing: string[] = [];
  Object.keys(DRAWN).forEach((what, n) => {
    const drawn = said.map((lines) => lines[n]);
    const together = what === 'address' ? AT_ONCE : FORKS; // a released address may be given again
    if (drawn.every((line) => line === '-')) missing.push(what);
    else {
      for (let first = 0; first < FORKS; first += together) {
        const those = drawn.slice(first, first + together);
        expect.soft(new Set(those).size, `${what}: ${those.join(', ')}`).toBe(those.length);
      }
    }
  });
  expect(missing.filter((what) => !MAY_MISS.has(what))).toEqual([]);
  process.stderr.write(
    `${FORKS} differ in ${Object.keys(DRAWN).length - missing.length}; without ${missing.join(', ')}\n`,
  );
}, 3_600_000);

/** Wakes the same memory in another machine, without a network and without the renewal. */
async function readsWithoutRenewal(): Promise<string> {
  const { state, virsh } = machine();
  const sandbox = await new Created(machine()).make('template');
  try {
    const workspace = new Workspace(state, sandbox.id);
    const [own, image] = [await workspace.domain(), await workspace.newMemory()];
    const { memory } = new SnapshotFolder(state, templateId);
    await copyFile(memory, image, constants.COPYFILE_FICLONE);
    await rewriteSaveImage(image, wakingXml((await readSaveImage(memory)).xml, own));
    await virsh.run(['define', workspace.domainXml]);
    await virsh.run(['restore', '--paused', image]);
    for (const mac of macAddresses(own)) await virsh.run(['domif-setlink', sandbox.id, mac, 'down']);
    await virsh.run(['resume', sandbox.id]);
    const guest = new AgentConsole(virsh, sandbox.id);
    const { stdout } = await guest.run(['/usr/bin/od', '-An', '-tx1', '-N16', '/dev/urandom']);
    expect(stdout.trim()).toMatch(/^(?:[0-9a-f]{2} ){15}[0-9a-f]{2}$/);
    return stdout.trim();
  } finally {
    await sandbox.remove();
  }
}

test('without renewal the same memory reads the same randomness again', async () => {
  const reads: string[] = [];
  do reads.push(await readsWithoutRenewal());
  while (new Set(reads).size === reads.length && reads.length < CONTROLS);
  expect(new Set(reads).size, reads.join(', ')).toBeLessThan(reads.length);
});
